/** A clause that cannot be seen through the API, and why. */
export interface Hidden {
  readonly says: string;
  readonly unseen: string;
}

export function hidden(says: string, unseen: string): Hidden {
  return { says, unseen };
}
