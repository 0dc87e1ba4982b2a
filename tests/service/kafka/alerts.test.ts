/** Each alert rule of docs/ fires when it should, and only then: checked with promtool. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { inProject } from "../../../scripts/lib/paths.mjs";
import { makeTempDirectory } from "../languages/tools.ts";
import { alertNames, promtool, RULES } from "./prometheus.ts";

const directory = makeTempDirectory();
afterAll(() => {
  directory.remove();
});

/** For each rule a series that makes it fire within half an hour, and one that does not; a value a minute. */
const alarms: Record<string, [series: string, firing: string, silent: string]> = {
  SeenguardDown: [`up{job="seenguard"}`, "0x40", "1x40"],
  SeenguardRestarts: [`seenguard_requests_total{job="seenguard",route="/metrics"}`, "0 5 1 5 1 5 1 5x40", "0+5x40"],
  SeenguardStorageAway: [`seenguard_stream_answers{job="seenguard"}`, "0x40", "1x40"],
  SeenguardPagesDegraded: [`seenguard_degraded_pages_total{job="seenguard"}`, "0+6x40", "6x40"],
  SeenguardRequestsRefused: [
    `seenguard_requests_total{job="seenguard",route="/v1/users/{user}/page",status="503"}`,
    "0+60x40",
    "0+1x40",
  ],
  SeenguardRequestsFail: [
    `seenguard_requests_total{job="seenguard",route="/v1/users/{user}/page",status="500"}`,
    "0+1x40",
    "1x40",
  ],
  SeenguardPagesSlow: [
    `seenguard_request_seconds_bucket{job="seenguard",route="/v1/users/{user}/page",le="0.25"}`,
    "0x40",
    "0+60x40",
  ],
  SeenguardLag: [`seenguard_lag_seconds_bucket{job="seenguard",le="300"}`, "0x40", "0+60x40"],
  SeenguardBacklogGrows: [`seenguard_stream_entries{job="seenguard"}`, "2000+9x40", "2000x40"],
  SeenguardConsumerFails: [`seenguard_failed_rounds_total{job="seenguard"}`, "0+1x40", "1x40"],
  SeenguardDeadLetters: [`seenguard_dead_letters_total{job="seenguard",code="bad-report"}`, "0x20 1x20", "1x40"],
  SeenguardPendingNotStored: [`seenguard_pending_not_stored_total{job="seenguard"}`, "0+1x40", "1x40"],
  SeenguardHistoriesDamaged: [`seenguard_damaged_total{job="seenguard",code="truncated"}`, "0x20 1x20", "1x40"],
  SeenguardKafkaLag: [`seenguard_kafka_lag_seconds{job="seenguard"}`, "0+60x40", "300-5x40"],
  SeenguardKafkaNewerRecords: [`seenguard_kafka_newer_partitions{job="seenguard"}`, "1x40", "0x40"],
  SeenguardKafkaRecordsLost: [`seenguard_kafka_resets_total{job="seenguard"}`, "_x20 2x20", "0x40"],
  SeenguardKafkaConsumerLost: [`seenguard_kafka_rebalances_total{job="seenguard",kind="lost"}`, "0x20 1x20", "1x40"],
  SeenguardKafkaProducerRestarts: [`seenguard_kafka_producer_restarts_total{job="seenguard"}`, "0+1x40", "0x20 1x20"],
};
/** The series that the ones above are compared with. */
const COMPARED = [
  [`seenguard_request_seconds_bucket{job="seenguard",route="/v1/users/{user}/page",le="1"}`, "0+60x40"],
  [`seenguard_request_seconds_bucket{job="seenguard",route="/v1/users/{user}/page",le="+Inf"}`, "0+60x40"],
  [`seenguard_lag_seconds_bucket{job="seenguard",le="1800"}`, "0+60x40"],
  [`seenguard_lag_seconds_bucket{job="seenguard",le="+Inf"}`, "0+60x40"],
] as const;

test("docs/service.md says what to do at each alert", () => {
  const page = readFileSync(inProject("docs", "service.md"), "utf8");
  expect(alertNames.filter((name) => !page.includes(`\`${name}\``))).toEqual([]);
});

test("each rule fires for its first series, and not for its second", () => {
  expect(Object.keys(alarms)).toEqual(alertNames);
  const caseOf = (which: 1 | 2) => ({
    interval: "1m",
    input_series: [...Object.values(alarms).map((alarm) => [alarm[0], alarm[which]] as const), ...COMPARED].map(
      ([series, values]) => ({ series, values }),
    ),
    promql_expr_test: [
      {
        expr: `group by (alertname) (ALERTS{alertstate="firing"})`,
        eval_time: "30m",
        exp_samples: which === 1 ? alertNames.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })) : [],
      },
    ],
  });
  const file = join(directory.path, "cases.json");
  writeFileSync(
    file,
    JSON.stringify({ rule_files: [RULES], evaluation_interval: "1m", tests: [caseOf(1), caseOf(2)] }),
  );
  const { status, said } = promtool(["test", "rules", file]);
  expect(status, said).toBe(0);
});
