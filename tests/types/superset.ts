/**
 * The package's declarations cover the published contract: what callers hand in by the contract is taken, what they get is what the contract promises.
 * It is enough that this compiles.
 */
import type * as ours from "seenguard";
import type * as contract from "./contract.js";

/** What the package gives may have more to it than was promised. */
type Gives<Promised, Given extends Promised> = Given;
/** What the package takes may be more than callers of the contract hand in. */
type Takes<Taken, HandedIn extends Taken> = HandedIn;

/** Every value, with its static side and its constructor. */
export type Values = Gives<typeof contract, typeof ours>;

export type GivenTypes = [
  Gives<contract.SeenGuard, ours.SeenGuard>,
  Gives<contract.Feed, ours.Feed>,
  Gives<contract.ShardChain, ours.ShardChain>,
  Gives<contract.SeenGuardError, ours.SeenGuardError>,
  Gives<contract.ApplyReport, ours.ApplyReport>,
  Gives<contract.Explanation, ours.Explanation>,
  Gives<contract.GuardStats, ours.GuardStats>,
  Gives<contract.FillResult<Date>, ours.FillResult<Date>>,
  Gives<contract.Impression, ours.Impression>,
];

export type TakenTypes = [
  Takes<ours.GuardOptions, contract.GuardOptions>,
  Takes<ours.ObserveOptions, contract.ObserveOptions>,
  Takes<ours.ReportOptions, contract.ReportOptions>,
  Takes<ours.ChainOptions, contract.ChainOptions>,
  Takes<ours.FillOptions<Date>, contract.FillOptions<Date>>,
  Takes<ours.FeedPage<Date>, contract.FeedPage<Date>>,
  Takes<ours.SeenStorage, contract.SeenStorage>,
];

/** These go both ways. */
export type ExchangedTypes = [
  Gives<contract.ItemId, ours.ItemId>,
  Takes<ours.ItemId, contract.ItemId>,
  Gives<contract.IdOf<Date>, ours.IdOf<Date>>,
  Takes<ours.IdOf<Date>, contract.IdOf<Date>>,
  Gives<contract.Snapshot, ours.Snapshot>,
  Takes<ours.Snapshot, contract.Snapshot>,
  Gives<contract.ShardFormat, ours.ShardFormat>,
  Takes<ours.ShardFormat, contract.ShardFormat>,
  Gives<contract.ErrorCode, ours.ErrorCode>,
  Takes<ours.ErrorCode, contract.ErrorCode>,
];
