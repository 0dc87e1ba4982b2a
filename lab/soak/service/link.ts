/** A TCP proxy of a server with faults: it is slow, goes silent, or is closed. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "./faults.ts";

const WHILE_MS = 10_000;
const SLOW_BYTES_A_SECOND = 2_000_000;

/** The faults of a link, which is looked up when one is injected. @param part the ends of the link */
export function linkFaults(part: string, find: () => Link | Promise<Link>): Fault[] {
  const faultOf = (kind: Fault["kind"], go: (link: Link) => Promise<void>): Fault => ({
    part,
    kind,
    inject: async () => go(await find()),
  });
  return [
    faultOf("slow", (link) => link.slowDown()),
    faultOf("silent", (link) => link.silence()),
    faultOf("closed", (link) => link.refuse()),
  ];
}

export class Link {
  /** The sockets of both ends. */
  private readonly sockets = new Set<Socket>();
  /** Silenced sockets, which forward nothing, without an error. */
  private readonly silent = new WeakSet<Socket>();
  private bytesASecond = Infinity;
  /** The time when all earlier bytes have arrived, in the time of `performance.now`. */
  private freeAt = 0;
  private readonly server: Server;
  /** The port on the loopback on which it listens. */
  port = 0;

  private constructor(target: number) {
    this.server = createServer((client) => {
      const server = connect(target, "127.0.0.1");
      this.pass(client, server);
      this.pass(server, client);
    });
  }

  /** Makes a link to a port of the loopback. */
  static async to(target: number): Promise<Link> {
    const link = new Link(target);
    await link.listen();
    return link;
  }

  async slowDown(): Promise<void> {
    this.bytesASecond = SLOW_BYTES_A_SECOND;
    await pause(WHILE_MS);
    this.bytesASecond = Infinity;
  }

  /** Silences existing connections: they receive nothing, not even an end. New connections work. */
  async silence(): Promise<void> {
    for (const socket of this.sockets) this.silent.add(socket);
    await pause(WHILE_MS);
  }

  async refuse(): Promise<void> {
    this.close();
    await pause(WHILE_MS);
    await this.listen();
  }

  close(): void {
    this.server.close();
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  private async listen(): Promise<void> {
    this.server.listen(this.port, "127.0.0.1");
    await once(this.server, "listening");
    this.port = (this.server.address() as AddressInfo).port;
  }

  private pass(from: Socket, to: Socket): void {
    this.sockets.add(from.setNoDelay());
    const unlessSilent = (act: () => void) => {
      if (!this.silent.has(from)) act();
    };
    from.on("data", (bytes) => {
      unlessSilent(() => {
        from.pause();
        void this.turn(bytes.length).then(() => to.write(bytes, () => from.resume()));
      });
    });
    from.on("end", () => unlessSilent(() => to.end()));
    from.on("error", () => unlessSilent(() => to.destroy()));
    from.on("close", () => this.sockets.delete(from));
  }

  /** Resolves when this number of bytes has been forwarded, after all before them. */
  private async turn(bytes: number): Promise<void> {
    const now = performance.now();
    this.freeAt = Math.max(now, this.freeAt) + (1000 * bytes) / this.bytesASecond;
    if (this.freeAt > now) await pause(this.freeAt - now);
  }
}
