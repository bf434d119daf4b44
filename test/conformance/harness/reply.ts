/** What came back, the same way from both drivers. */
export interface Reply {
  status: number;
  // Cases look at whatever came; its shape is what they check.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  data?: any;
  type?: string;
  scope?: string;
  /** The client refused it without asking the service. */
  isLocal?: true;
  /** Headers and text of a bare answer. */
  headers?: Headers;
  text?: string;
}

/** The part of a reply that both drivers tell. */
export function outcome({ status, data, type, scope }: Reply): Reply {
  if (type === undefined) return data === undefined ? { status } : { status, data };
  return scope === undefined ? { status, type } : { status, type, scope };
}
