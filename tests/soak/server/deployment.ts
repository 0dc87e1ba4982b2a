/** The demo's server, its consumer and a Redis with an append-only file: each can be killed and is started again. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startConsumer, startDemo, startRedis, type Running, type RunningRedis } from "../../demo/processes.ts";
import { freePort } from "../../../scripts/lib/ports.mjs";
import { residentBytes } from "../../../benches/processes.ts";

export type Part = "Redis" | "consumer" | "server";
export const PARTS: readonly Part[] = ["consumer", "server", "Redis"];

/** Resident memory of each part, and what Redis has on disk, in bytes. */
export interface Memory {
  readonly server: number;
  readonly consumer: number;
  readonly redis: number;
  readonly appendOnlyFile: number;
}

export class Deployment {
  readonly url: string;

  private constructor(
    private readonly directory: string,
    private readonly port: number,
    readonly redis: RunningRedis,
    private server: Running,
    private consumer: Running,
  ) {
    this.url = `http://127.0.0.1:${String(port)}`;
  }

  static async start(): Promise<Deployment> {
    const directory = await mkdtemp(join(tmpdir(), "seenguard-soak-"));
    const redis = await startRedis({ dir: directory, appendonly: "yes", appendfsync: "everysec" });
    const port = await freePort();
    const [server, consumer] = await Promise.all([startServer(redis.url, port), startOwnConsumer(redis.url)]);
    return new Deployment(directory, port, redis, server, consumer);
  }

  /** Kills a part by SIGKILL and starts it again, as a supervisor does; resolves when it is ready. */
  async killAndRestart(part: Part): Promise<void> {
    if (part === "Redis") {
      await this.redis.kill();
      await this.redis.restart();
    } else if (part === "server") {
      await this.server.stop("SIGKILL");
      this.server = await startServer(this.redis.url, this.port);
    } else {
      await this.consumer.stop("SIGKILL");
      this.consumer = await startOwnConsumer(this.redis.url);
    }
  }

  async memory(): Promise<Memory> {
    const info = await this.redis.client.info();
    const number = (field: string) => Number(new RegExp(`^${field}:(\\d+)`, "m").exec(info)?.[1] ?? 0);
    return {
      server: residentBytes(this.server.process.pid),
      consumer: residentBytes(this.consumer.process.pid),
      redis: number("used_memory_rss"),
      appendOnlyFile: number("aof_current_size"),
    };
  }

  async stop(): Promise<void> {
    await Promise.all([this.server.stop("SIGKILL"), this.consumer.stop("SIGKILL")]);
    await this.redis.stop();
    await rm(this.directory, { recursive: true, force: true });
  }
}

async function startServer(redisUrl: string, port: number): Promise<Running> {
  // The consumer is a process of its own, to be killed by itself.
  return startDemo({ REDIS_URL: redisUrl, PORT: String(port), CONSUMER: "none" });
}

const startOwnConsumer = (redisUrl: string): Promise<Running> => startConsumer(redisUrl, "soak");
