/**
 * The package's declarations cover the contract: what callers hand in by the contract is taken, what they get is what
 * the contract promises. It is enough that this compiles.
 */
import type * as ours from "seenguard";
import type * as ourNearDuplicates from "seenguard/near-duplicates";
import type * as ourServer from "seenguard/server";
import type * as contract from "./contract/seenguard.js";
import type * as nearDuplicatesContract from "./contract/near-duplicates.js";
import type * as serverContract from "./contract/server.js";

/** What the package gives may have more to it than was promised. */
type Gives<Promised, Given extends Promised> = Given;
/** What the package takes may be more than callers of the contract hand in. */
type Takes<Taken, HandedIn extends Taken> = HandedIn;

export type GivenTypes = [
  Gives<Omit<contract.SeenGuard, "stats">, ours.SeenGuard>,
  Gives<Pick<typeof contract.SeenGuard, "clear">, typeof ours.SeenGuard>,
  Gives<contract.Feed, ours.Feed>,
  Gives<contract.SeenGuardError, ours.SeenGuardError>,
  Gives<contract.ErrorCode, ours.ErrorCode>,
  Gives<contract.ApplyReport, ours.ApplyReport>,
  Gives<contract.Explanation, ours.Explanation>,
  Gives<contract.GuardStats, ours.GuardStats>,
  Gives<contract.FillResult<Date>, ours.FillResult<Date>>,
  Gives<contract.PageRequest<Date>, ours.PageRequest<Date>>,
  Gives<contract.Report, ours.Report>,
  Gives<contract.Impression, ours.Impression>,
  Gives<serverContract.ShardChain, ourServer.ShardChain>,
  Gives<serverContract.Page<Date>, ourServer.Page<Date>>,
  Gives<serverContract.SeenStore, ourServer.SeenStore>,
  Gives<nearDuplicatesContract.NearDuplicates, ourNearDuplicates.NearDuplicates>,
];

export type TakenTypes = [
  Takes<ours.GuardOptions, contract.GuardOptions>,
  Takes<ours.ObserveOptions, contract.ObserveOptions>,
  Takes<ours.FeedOptions, contract.FeedOptions>,
  Takes<ours.ReportOptions, contract.ReportOptions>,
  Takes<ours.FillOptions, contract.FillOptions>,
  Takes<ours.FeedPage<Date, number>, contract.FeedPage<Date, number>>,
  Takes<ours.SeenStorage, contract.SeenStorage>,
  Takes<ourServer.ChainOptions, serverContract.ChainOptions>,
  Takes<ourServer.PageOptions, serverContract.PageOptions>,
];

/** These go both ways. */
export type ExchangedTypes = [
  Gives<contract.ItemId, ours.ItemId>,
  Takes<ours.ItemId, contract.ItemId>,
  Gives<contract.Identified, ours.Identified>,
  Takes<ours.Identified, contract.Identified>,
  Gives<contract.IdOf<Date>, ours.IdOf<Date>>,
  Gives<contract.Snapshot, ours.Snapshot>,
  Takes<ours.Snapshot, contract.Snapshot>,
  Gives<contract.ShardFormat, ours.ShardFormat>,
  Takes<ours.ShardFormat, contract.ShardFormat>,
];
