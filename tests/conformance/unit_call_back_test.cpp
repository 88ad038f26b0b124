// The call-backs of units and event managers: what each may do.
#include <cstdint>
#include <utility>

#include "conformance/call_back_deeds.hpp"

namespace netio::test {
namespace {

class UnitCallBack : public CallBackDeeds {};

TEST_P(UnitCallBack, readout_unit_on_up) {
  each([](Scene& s) {
    s.make_builder();
    s.make_unit();
    s.arm(s.unit, SET(on_up));
    s.unit->connect(0, s.builder_address);
    s.send_fragments();
  });
}

TEST_P(UnitCallBack, readout_unit_on_down) {
  each([](Scene& s) {
    s.make_builder();
    s.make_unit();
    s.arm(s.unit, SET(on_down));
    s.unit->connect(0, s.builder_address);
    ASSERT_SOON(s.pump, s.unit->builders_connected() == 1);
    s.builder.reset();
  });
}

TEST_P(UnitCallBack, readout_unit_on_refused) {
  each([](Scene& s) {
    s.make_builder(false, 32);
    s.make_unit();
    s.arm(s.unit, SET(on_refused));
    s.unit->connect(0, s.builder_address);
    s.send_fragments();
  });
}

TEST_P(UnitCallBack, readout_unit_on_room) {
  each([](Scene& s) {
    s.make_builder();
    s.make_unit(false, 16, 4000);
    s.arm(s.unit, SET(on_room));
    s.unit->connect(0, s.builder_address);
    s.send_fragments();
  });
}

TEST_P(UnitCallBack, readout_unit_on_released) {
  each([](Scene& s) {
    s.make_builder();
    s.make_unit();
    s.arm(s.unit, SET(on_released));
    s.unit->connect(0, s.builder_address);
    for (std::uint64_t n = 0; n < 20; ++n) {
      ASSERT_EQ(s.unit->lend({1, n}, s.bytes, n), Status::ok);
    }
  });
}

TEST_P(UnitCallBack, readout_unit_on_settled) {
  each([](Scene& s) {
    s.make_builder();
    s.make_unit();
    s.arm(s.unit, SET(on_settled));
    s.unit->connect(0, s.builder_address);
    s.send_fragments();
  });
}

TEST_P(UnitCallBack, readout_unit_on_high_watermark) {
  each([](Scene& s) {
    s.make_builder();
    s.make_unit(false, 16, 4000);
    s.arm(s.unit, SET(on_high_watermark));
    s.send_fragments();
  });
}

TEST_P(UnitCallBack, readout_unit_on_low_watermark) {
  each([](Scene& s) {
    s.make_builder();
    s.make_unit(false, 16, 4000);
    s.arm(s.unit, SET(on_low_watermark));
    s.send_fragments();
    s.pump.turn(0ms);
    if (s.unit) s.unit->connect(0, s.builder_address);
  });
}

TEST_P(UnitCallBack, readout_unit_finish) {
  each([](Scene& s) {
    s.make_builder();
    s.make_unit();
    s.unit->connect(0, s.builder_address);
    s.send_fragments();
    s.arm(s.unit, [](auto& object, auto call) { object->finish(1h, std::move(call)); });
  });
}

TEST_P(UnitCallBack, readout_unit_on_begin) {
  each([](Scene& s) {
    s.make_managed();
    s.arm(s.unit, SET(on_begin));
    s.unit->join(s.manager_address);
  });
}

TEST_P(UnitCallBack, readout_unit_on_stop) {
  each([](Scene& s) {
    s.make_managed();
    s.arm(s.unit, SET(on_stop));
    s.join_manager();
    s.manager->stop({1, 10}, {});
  });
}

TEST_P(UnitCallBack, readout_unit_on_manager_up) {
  each([](Scene& s) {
    s.make_managed();
    s.arm(s.unit, SET(on_manager_up));
    s.join_manager();
  });
}

TEST_P(UnitCallBack, readout_unit_on_manager_down) {
  each([](Scene& s) {
    s.make_managed();
    s.arm(s.unit, SET(on_manager_down));
    s.join_manager();
    ASSERT_SOON(s.pump, s.unit->builders_connected() == 1);
    s.manager.reset();
  });
}

TEST_P(UnitCallBack, readout_unit_on_manager_refused) {
  each([](Scene& s) {
    s.make_managed(32);
    s.arm(s.unit, SET(on_manager_refused));
    s.join_manager();
  });
}

TEST_P(UnitCallBack, builder_unit_on_up) {
  each([](Scene& s) {
    s.make_builder();
    s.make_unit();
    s.arm(s.builder, SET(on_up));
    s.unit->connect(0, s.builder_address);
    s.send_fragments();
  });
}

TEST_P(UnitCallBack, builder_unit_on_down) {
  each([](Scene& s) {
    s.make_builder();
    s.make_unit();
    s.arm(s.builder, SET(on_down));
    s.unit->connect(0, s.builder_address);
    ASSERT_SOON(s.pump, s.unit->builders_connected() == 1);
    s.send_fragments();
    ASSERT_SOON(s.pump, s.builder->books().complete != 0);
    s.unit.reset();
  });
}

TEST_P(UnitCallBack, builder_unit_on_refused) {
  each([](Scene& s) {
    s.make_builder();
    s.make_unit(false, 32);
    s.arm(s.builder, SET(on_refused));
    s.unit->connect(0, s.builder_address);
    s.send_fragments();
  });
}

TEST_P(UnitCallBack, builder_unit_on_event) {
  each([](Scene& s) {
    s.make_builder();
    s.make_unit();
    s.arm(s.builder, SET(on_event));
    s.unit->connect(0, s.builder_address);
    s.send_fragments();
  });
}

TEST_P(UnitCallBack, builder_unit_on_range) {
  each([](Scene& s) {
    s.make_builder();
    s.make_unit();
    s.arm(s.builder, SET(on_range));
    s.unit->connect(0, s.builder_address);
    s.send_fragments();
  });
}

TEST_P(UnitCallBack, builder_unit_on_run_end) {
  each([](Scene& s) {
    s.make_builder();
    s.make_unit();
    s.arm(s.builder, SET(on_run_end));
    s.unit->connect(0, s.builder_address);
    s.send_fragments();
    if (s.unit) s.unit->advance(end_of_run(1));
  });
}

// It stands between an event of one run and the next one, which is handed over in the same turn.
TEST_P(UnitCallBack, builder_unit_on_run_end_between_two_events) {
  each([](Scene& s) {
    s.make_builder();
    s.make_unit();
    s.arm(s.builder, SET(on_run_end));
    s.unit->connect(0, s.builder_address);
    for (const std::uint64_t run : {1U, 2U}) static_cast<void>(s.unit->send({run, 0}, s.bytes));
  });
}

TEST_P(UnitCallBack, builder_unit_on_high_watermark) {
  each([](Scene& s) {
    s.make_builder();
    s.make_unit();
    s.keep_events();
    s.arm(s.builder, SET(on_high_watermark));
    s.unit->connect(0, s.builder_address);
    s.send_fragments();
  });
}

TEST_P(UnitCallBack, builder_unit_on_low_watermark) {
  each([](Scene& s) {
    s.make_builder();
    s.make_unit();
    s.keep_events();
    s.arm(s.builder, SET(on_low_watermark));
    s.unit->connect(0, s.builder_address);
    s.send_fragments();
    ASSERT_SOON(s.pump, s.builder->fill() > 0.8);
    s.builder->on_event([](const Event&) {});
    s.kept.clear();
  });
}

TEST_P(UnitCallBack, builder_unit_close) {
  each([](Scene& s) {
    s.make_builder();
    s.make_unit();
    s.unit->connect(0, s.builder_address);
    s.send_fragments();
    ASSERT_SOON(s.pump, s.unit->builders_connected() == 1);
    s.arm(s.builder, [](auto& object, auto call) { object->close(1h, std::move(call)); });
  });
}

TEST_P(UnitCallBack, builder_unit_on_manager_up) {
  each([](Scene& s) {
    s.make_managed();
    s.arm(s.builder, SET(on_manager_up));
    s.join_manager();
  });
}

TEST_P(UnitCallBack, builder_unit_on_manager_down) {
  each([](Scene& s) {
    s.make_managed();
    s.arm(s.builder, SET(on_manager_down));
    s.join_manager();
    ASSERT_SOON(s.pump, s.unit->builders_connected() == 1);
    s.manager.reset();
  });
}

TEST_P(UnitCallBack, builder_unit_on_manager_refused) {
  each([](Scene& s) {
    s.make_managed(16, 32);
    s.arm(s.builder, SET(on_manager_refused));
    s.join_manager();
  });
}

TEST_P(UnitCallBack, event_manager_on_unit_up) {
  each([](Scene& s) {
    s.make_managed();
    s.arm(s.manager, SET(on_unit_up));
    s.join_manager();
  });
}

TEST_P(UnitCallBack, event_manager_on_builder_up) {
  each([](Scene& s) {
    s.make_managed();
    s.arm(s.manager, SET(on_builder_up));
    s.join_manager();
  });
}

TEST_P(UnitCallBack, event_manager_on_unit_down) {
  each([](Scene& s) {
    s.make_managed();
    s.arm(s.manager, SET(on_unit_down));
    s.join_manager();
    ASSERT_SOON(s.pump, s.unit->builders_connected() == 1);
    s.unit.reset();
  });
}

TEST_P(UnitCallBack, event_manager_on_builder_down) {
  each([](Scene& s) {
    s.make_managed();
    s.arm(s.manager, SET(on_builder_down));
    s.join_manager();
    ASSERT_SOON(s.pump, s.unit->builders_connected() == 1);
    s.builder.reset();
  });
}

TEST_P(UnitCallBack, event_manager_on_refused) {
  each([](Scene& s) {
    s.make_managed(32);
    s.arm(s.manager, SET(on_refused));
    s.join_manager();
  });
}

TEST_P(UnitCallBack, event_manager_close) {
  each([](Scene& s) {
    s.make_managed();
    s.join_manager();
    ASSERT_SOON(s.pump, s.unit->builders_connected() == 1);
    s.arm(s.manager, [](auto& object, auto call) { object->close(1h, std::move(call)); });
  });
}

INSTANTIATE_TEST_SUITE_P(on, UnitCallBack, testing::ValuesIn(two_wires()), row_name);

}  // namespace
}  // namespace netio::test
