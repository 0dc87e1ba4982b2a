/** A way to a server over TCP that goes wrong for a while: it is slow, goes silent, or is closed. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import type { Fault } from "./faults.ts";

const WHILE_MS = 10_000;
const SLOW_BYTES_A_SECOND = 2_000_000;

/** What may be wrong with a link, which is found when that is injected. @param part from where to where it leads */
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
  /** Both ends of all that goes through. */
  private readonly sockets = new Set<Socket>();
  /** Of these nothing goes through any more, without an error. */
  private readonly silent = new WeakSet<Socket>();
  private bytesASecond = Infinity;
  /** When what is on its way has arrived, by `performance.now`. */
  private freeAt = 0;
  private readonly server: Server;
  /** Of the loopback, where it is reached. */
  port = 0;

  private constructor(target: number) {
    this.server = createServer((client) => {
      const server = connect(target, "127.0.0.1");
      this.pass(client, server);
      this.pass(server, client);
    });
  }

  /** To a port of the loopback. */
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

  /** What is connected receives nothing any more, not even an end; who connects again is served. */
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

  /** Resolves when N bytes have gone through after all before them. */
  private async turn(bytes: number): Promise<void> {
    const now = performance.now();
    this.freeAt = Math.max(now, this.freeAt) + (1000 * bytes) / this.bytesASecond;
    if (this.freeAt > now) await pause(this.freeAt - now);
  }
}
