/** The arithmetic of docs/scale.md: the size of a deployment, from its load and the measurements. */

export interface Load {
  /** U: users whose history is stored. */
  readonly users: number;
  /** a: the share of them that reads on a day. */
  readonly activeShare: number;
  /** i: impressions of such a user and day. */
  readonly impressionsPerDay: number;
  /** p: the ratio of the busiest second to the mean one. */
  readonly peakFactor: number;
  /** b: impressions that one `update` ingests. */
  readonly impressionsPerUpdate: number;
  /** g: impressions between two refreshes. */
  readonly impressionsPerRefresh: number;
  /** w: the share of requests from devices without shards. */
  readonly firstShare: number;
  /** r: replicas of each master. */
  readonly replicas: number;
}

export interface Machines {
  /** q: memory of a Redis node, and s: the share of it that may be in use. */
  readonly nodeBytes: number;
  readonly memoryShare: number;
  /** t: the share of a core that may be busy at the peak. */
  readonly coreShare: number;
}

export interface Measured {
  /** B: the bytes of a user in Redis, and f: the allocator's ratio of system memory to memory in use. */
  readonly bytesPerUser: number;
  readonly fragmentation: number;
  /** The processor time of Redis and of Node in µs, for an update and a page. */
  readonly redisUpdate: number;
  readonly redisPage: number;
  readonly nodeUpdate: number;
  readonly nodePage: number;
  /** The bytes between Node and Redis, both ways together. */
  readonly bytesUpdate: number;
  readonly bytesPage: number;
  /** The bytes of an impression in a report. */
  readonly bytesImpression: number;
  /** The bytes to a device, for a first page and a refresh. */
  readonly bytesFirst: number;
  readonly bytesRefresh: number;
}

export interface Needs {
  readonly memory: number;
  readonly impressionsPerSecond: number;
  readonly updatesPerSecond: number;
  readonly pagesPerSecond: number;
  readonly redisCores: number;
  readonly nodeCores: number;
  readonly redisBytesPerSecond: number;
  readonly streamBytesPerSecond: number;
  readonly deviceBytesPerSecond: number;
  /** Masters and replicas. */
  readonly redisNodes: number;
  /** The processes that make pages, and those that ingest impressions. */
  readonly servers: number;
  readonly consumers: number;
  readonly partitions: number;
}

const DAY_SECONDS = 86_400;

/** I, u and v: impressions, updates and pages a second at the peak. */
export function peakOf(load: Load): Readonly<Record<"impressions" | "updates" | "pages", number>> {
  const perDay = load.users * load.activeShare * load.impressionsPerDay;
  const impressions = (perDay * load.peakFactor) / DAY_SECONDS;
  return {
    impressions,
    updates: impressions / load.impressionsPerUpdate,
    pages: impressions / load.impressionsPerRefresh,
  };
}

export function needsOf(load: Load, machines: Machines, measured: Measured): Needs {
  const ofMasters = load.users * measured.bytesPerUser * measured.fragmentation;
  const { impressions, updates, pages } = peakOf(load);
  const redisCores = (updates * measured.redisUpdate + pages * measured.redisPage) / 1e6;
  const [consumerCores, serverCores] = [(updates * measured.nodeUpdate) / 1e6, (pages * measured.nodePage) / 1e6];
  const consumers = Math.ceil(consumerCores / machines.coreShare);
  const perPage = load.firstShare * measured.bytesFirst + (1 - load.firstShare) * measured.bytesRefresh;
  const mastersByMemory = Math.ceil(ofMasters / (machines.memoryShare * machines.nodeBytes));
  const mastersByCpu = Math.ceil(redisCores / machines.coreShare);
  return {
    memory: ofMasters * (1 + load.replicas),
    impressionsPerSecond: impressions,
    updatesPerSecond: updates,
    pagesPerSecond: pages,
    redisCores,
    nodeCores: consumerCores + serverCores,
    redisBytesPerSecond: updates * measured.bytesUpdate + pages * measured.bytesPage,
    streamBytesPerSecond: impressions * measured.bytesImpression,
    deviceBytesPerSecond: pages * perPage,
    redisNodes: Math.max(mastersByMemory, mastersByCpu) * (1 + load.replicas),
    servers: Math.ceil(serverCores / machines.coreShare),
    consumers,
    // Enough to double the consumers; a power of 2 can be doubled again without moving half of the users elsewhere.
    partitions: 2 ** Math.ceil(Math.log2(2 * consumers)),
  };
}
