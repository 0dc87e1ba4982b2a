package seenguard.flink;

/**
 * An impression, or an item that became unseen. Texts have a character for each byte of their UTF-8.
 *
 * @param user whose it is
 * @param isUnseen whether the item is to be shown again, rather than was seen
 * @param id the item's
 * @param at when, Unix ms of the server's clock
 * @param arrived when the event was added to the stream, Unix ms
 */
public record SeenEvent(String user, boolean isUnseen, String id, long at, long arrived) {}
