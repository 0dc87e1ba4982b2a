/** Brotli as servers use it for files that they compress once. */
import { brotliCompressSync, constants } from "node:zlib";

/**
 * How many bytes are sent.
 * @param {Uint8Array} content
 */
export function brotliSize(content) {
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
    [constants.BROTLI_PARAM_SIZE_HINT]: content.length,
  };
  return brotliCompressSync(content, { params }).length;
}
