// Types of bloomery.js. SPDX-License-Identifier: Apache-2.0

/** What is wrong with a file, or with what was given to open it. */
export class FilterError extends Error {
  /**
   * - `corrupt`: not a bloomery file, or damaged, or cut off;
   * - `version`: of a later version of the format;
   * - `unsupported`: of another kind, sealed, or a patch;
   * - `key`: made with a secret key or a hash function that was not given, or another was;
   * - `limit`: unpacks to more bytes than allowed;
   * - `source`: the folder does not have it, or its server answers something else;
   * - `untrusted`: not signed by the key that was given;
   * - `older`: an older version than the copy is published.
   */
  readonly code: "corrupt" | "version" | "unsupported" | "key" | "limit" | "source" | "untrusted" | "older";
  constructor(code: FilterError["code"], message: string);
}

export interface OpenOptions {
  /** The secret key of a filter that was made with one: 16 bytes. */
  key?: ArrayBuffer | ArrayBufferView;
  /** The function of a filter that was made with one: 64 bits for the bytes of a key. */
  hash?: (key: Uint8Array) => bigint;
  /** How many bytes a file in the transport form may unpack to; 256 MiB if not given. */
  limit?: number;
}

/**
 * Opens a filter file, after a check of all its checksums. The filter keeps the bytes, and they must
 * stay as they are.
 *
 * @throws {FilterError}
 */
export function open(data: ArrayBufferLike | ArrayBufferView, options?: OpenOptions): Filter;

/** A filter, made by {@link open}. */
export class Filter {
  private constructor();
  readonly kind: "bloom" | "standard" | "partitioned" | "split" | "fuse8" | "fuse16" | "fuse32" | "ribbon";
  /** Keys that the filter was made for, 0 if not known. */
  readonly capacity: number;
  /** False positive rate that was asked for, 0 if not known. */
  readonly errorRate: number;
  /** Size of the filter's array in bytes. */
  readonly bytes: number;
  /** Reports whether key may be in the set: false is certain. A string is its UTF-8 bytes. */
  has(key: string | Uint8Array): boolean;
  /** Like has, for a key whose hash of 64 bits is known. */
  hasHash(hash: bigint): boolean;
}

export interface FollowOptions extends OpenOptions {
  /** The name of the filter, if the folder has several. */
  filter?: string;
  /** Milliseconds between questions, 60,000 if not given; 0 for none but those of update. */
  every?: number;
  /** The key that versions have to be signed with, in PEM. */
  verifyKey?: string;
  /** Takes older versions than the copy, too. */
  older?: boolean;
  /** Is called with every new version. */
  changed?: (filter: Followed) => void;
}

/**
 * Opens a filter of a folder that `bloomery publish` has made, and keeps it up to date by patches. It needs
 * WebCrypto: a page by https or from localhost.
 */
export function follow(url: string | URL, options?: FollowOptions): Promise<Followed>;

/** A filter that is kept up to date, made by {@link follow}. */
export class Followed {
  private constructor();
  /** The version that answers. */
  readonly version: { readonly number: number; readonly made: string; readonly sum: string };
  /** When the copy was last known to be the newest. */
  readonly checked: Date;
  /** Why the last update failed, null if it did not. */
  readonly error: Error | null;
  /** The filter of this version, as {@link open} returns it. */
  readonly filter: Filter;
  has(key: string | Uint8Array): boolean;
  hasHash(hash: bigint): boolean;
  /** Looks for a new version now, and reports whether there was one. If that fails the old one stays. */
  update(): Promise<boolean>;
  /** Ends the updates. The copy still answers. */
  close(): void;
}
