# Makes Doxygen's comments of those in the public headers: in front of a declaration (///), behind it
# (///<), at the top of a file (@file). Lines keep their numbers. What it goes by:
# - A comment that ends in a colon is for all declarations up to the next blank line or comment.
# - "For the library" begins what is not for users, up to the next blank line.
# - "--- Words." begins a section of the C API, which becomes a module.

function indent() { match($0, /[^ ]/); return RSTART - 1 }

# The line with another mark in place of its "//".
function comment(mark, line) { line = $0; sub(/\/\//, mark, line); return line }

# Opens the module that a line "// --- Words. More" begins, and leaves "// More" of it.
function module(words, close_last, name) {
  words = $0; sub(/^\/\/ --- /, "", words); sub(/\..*/, "", words)
  sub(/--- [^.]*\. ?/, "")
  close_last = modules++ ? "/** @} */ " : ""
  name = FILENAME; gsub(/[^a-z]/, "_", name)  # each header has modules of its own
  return close_last "/** @defgroup c_" name "_" modules " C: " words " */ /** @{ */ "
}

# A comment's last line is held back until the next line tells that it was the last.
function release(is_last) {
  if (is_last && sub(/:$/, ".", held)) { family = words; sub(/:$/, ".", family) }
  if (held != "") print held
  held = ""
}

NR == 1 { top = 1; behind = -1; print "/// @file " FILENAME substr($0, 3); next }
top && /^\/\// { print comment("///"); next }
{ top = 0; sub(/ +\/\/ NOLINT.*/, "") }

hidden && (!/^$/ || braces > 0) { print; braces += gsub(/{/, "") - gsub(/}/, ""); next }
/^$/ { release(1); print hidden ? "/// @endcond" : ""; hidden = braces = 0; family = ""; next }

/^ *\/\/ For the library/ { release(1); hidden = 1; print "/// @cond library"; next }
/^ *\/\/ / && indent() == behind { print comment("///<"); next }
/^ *\/\/ / && indent() <= 2 {
  if (held == "") words = ""
  release(0)
  opening = /^\/\/ --- / ? module() : ""
  words = words " " substr($0, indent() + 4)
  held = opening comment("///")
  behind = -1; family = ""; again = 0
  next
}

{ release(1); behind = -1 }

# Who cannot be copied says so. Nothing to say have who is destroyed, names made private, and fields
# that are the library's.
/ = delete;$/ { print $0 "  ///< Not to be copied."; next }
/^ *~[A-Za-z]+\(\)( = default)?;$/ || /^  .* reserved[a-z_]*(\[[0-9]+\])?;$/ || /handle handle;$/ || /^  using [A-Za-z:]+;$/ { print ""; next }
/^ protected:$/ { print " private:"; next }

/([;,{}]|^ *[a-z_]+) +\/\/ / && !/^#|\/\/ namespace / && (indent() <= 4 || modules) {
  match($0, / \/\/ /); behind = RSTART
  print comment("///<")
  next
}

family != "" && /^  [a-z0-9_]+ [a-z_]+(, [a-z_]+)+;$/ { gsub(/, /, "; /**" family " */ " $1 " ") }
{
  if (again && family != "" && !/^ *}/) printf "/**%s */ ", family
  print
  again = /[;}]$/
}

END { release(1); if (modules) print "/** @} */" }
