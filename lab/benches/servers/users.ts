/** The users of both servers. */

export const nameOf = (user: number): string => `user-${String(user)}`;
export const namespaceOf = (user: string): string => `home:${user}`;
