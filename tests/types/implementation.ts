/**
 * The declarations are written by hand. This file compiles only if the entries' exports agree with them.
 */
import type * as devtools from "../../js/entries/devtools.js";
import type * as formats from "../../js/entries/formats.js";
import type * as index from "../../js/entries/index.js";
import type * as lazy from "../../js/entries/lazy.js";
import type * as nearDuplicates from "../../js/entries/near-duplicates.js";
import type * as server from "../../js/entries/server.js";
import type * as slim from "../../js/entries/slim.js";
import type * as serverTesting from "../../js/testing/promises.js";
import type * as declaredIndex from "seenguard";
import type * as declaredDevtools from "seenguard/devtools";
import type * as declaredFormats from "seenguard/formats";
import type * as declaredLazy from "seenguard/lazy";
import type * as declaredNearDuplicates from "seenguard/near-duplicates";
import type * as declaredServer from "seenguard/server";
import type * as declaredServerTesting from "seenguard/server/testing";
import type * as declaredSlim from "seenguard/slim";

/** A class without its constructor, which is the package's own business: guards and chains are opened and made. */
type StaticSide<Class> = { [Key in keyof Class]: Class[Key] };
/** The entry with such classes. */
type Opened<Entry> = { [Name in keyof Entry]: Name extends "SeenGuardError" ? unknown : StaticSide<Entry[Name]> };
type Declares<Declared, Implemented extends Declared> = Implemented;

export type Entries = [
  Declares<Opened<typeof declaredIndex>, Opened<typeof index>>,
  Declares<Opened<typeof declaredFormats>, Opened<typeof formats>>,
  Declares<Opened<typeof declaredSlim>, Opened<typeof slim>>,
  Declares<typeof declaredLazy, typeof lazy>,
  Declares<Opened<typeof declaredServer>, Opened<typeof server>>,
  Declares<Opened<typeof declaredServerTesting>, Opened<typeof serverTesting>>,
  Declares<Opened<typeof declaredNearDuplicates>, Opened<typeof nearDuplicates>>,
];

export type Instances = [
  Declares<declaredIndex.SeenGuard, InstanceType<typeof index.SeenGuard>>,
  Declares<declaredIndex.SeenGuardError, index.SeenGuardError>,
  Declares<declaredDevtools.SeenGuardPanel, devtools.SeenGuardPanel>,
  Declares<declaredServer.ShardChain, server.ShardChain>,
  Declares<declaredNearDuplicates.NearDuplicates, nearDuplicates.NearDuplicates>,
  Declares<declaredServer.SeenGuardError, server.SeenGuardError>,
];

/** And nothing is exported that is not declared. */
export type NoMore = [
  Declares<keyof typeof declaredIndex, keyof typeof index>,
  Declares<keyof typeof declaredFormats, keyof typeof formats>,
  Declares<keyof typeof declaredSlim, keyof typeof slim>,
  Declares<keyof typeof declaredLazy, keyof typeof lazy>,
  Declares<keyof typeof declaredServer, keyof typeof server>,
  Declares<keyof typeof declaredServerTesting, keyof typeof serverTesting>,
  Declares<keyof typeof declaredNearDuplicates, keyof typeof nearDuplicates>,
  Declares<keyof typeof declaredDevtools, keyof typeof devtools>,
];
