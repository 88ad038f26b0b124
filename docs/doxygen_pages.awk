# Makes Doxygen's links of those in README.md, docs/*.md and their like, which are GitHub's: headings
# are found by file and words, and what is no page here (a source, a folder) is named without a link.
# A link to what does not exist stays a link to a heading that does not: Doxygen warns.

function file_of(path) { sub(/.*\//, "", path); sub(/\.md$/, "", path); return tolower(path) }

function label(file, words) {
  words = tolower(words); gsub(/[^a-z0-9 _-]/, "", words); gsub(/ /, "-", words)
  return file "-" words
}

function exists(path, folder) {
  folder = FILENAME; if (!sub(/[^\/]*$/, "", folder)) folder = ""
  return system("test -e '" folder path "'") == 0
}

# The line with the targets of its links made Doxygen's.
function linked(line, done, link, words, target) {
  while (match(line, /\[[^][]*\]\([^()]*\)/)) {
    link = substr(line, RSTART, RLENGTH)
    words = target = link
    sub(/\]\(.*/, "]", words); sub(/.*\]\(/, "", target); sub(/\)$/, "", target)
    if (target ~ /^#/) target = "#" label(here, substr(target, 2))
    else if (target ~ /\.md#/) target = "#" label(file_of(substr(target, 1, index(target, "#") - 1)), substr(target, index(target, "#") + 1))
    else if (target !~ /^https?:/ && !exists(target)) target = "#" label("missing", target)
    done = done substr(line, 1, RSTART - 1)
    line = substr(line, RSTART + RLENGTH)
    if (target ~ /^#|^https?:|\.md$|\.svg$/) done = done words "(" target ")"
    else done = done substr(words, 2, length(words) - 2)
  }
  return done line
}

NR == 1 { here = file_of(FILENAME) }
/^ *```/ { code = !code }
code || /^    / { print; next }
/^##/ { words = $0; sub(/^#+ /, "", words); print $0 " {#" label(here, words) "}"; next }
{ print linked($0) }
