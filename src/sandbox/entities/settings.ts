/** Rates of one country code, in micro-dollars: for each segment of an sms, and for an mms as a whole (2.4). */
export interface Rate {
  prefix: string;
  smsMicros: number;
  mmsMicros: number;
}

/** What the account's owner, or the operator of the service, has set. */
export interface AccountSettings {
  id: 'account';
  /** Deleting messages and conversations answers 403 (4.2). */
  restrictDeletingSms: boolean;
  /** Recordings are unavailable to every credential (5.2). */
  sensitiveContent: boolean;
  /** A destination without a rate answers 422 (section 7). */
  rates: Rate[];
  /** Hosts that a redirect URI may have (5.3). */
  redirectHosts: string[];
  /** Lets redirect URIs on the loopback address do without TLS, against 5.3: for trying a login on one machine. */
  plainLoopbackRedirects: boolean;
  /** How long new access tokens live (5.3). */
  accessTokenSeconds: number;
}

export const defaultSettings: AccountSettings = {
  id: 'account',
  restrictDeletingSms: false,
  sensitiveContent: false,
  rates: [
    { prefix: '1', smsMicros: 10_000, mmsMicros: 30_000 },
    { prefix: '44', smsMicros: 45_000, mmsMicros: 90_000 },
  ],
  redirectHosts: ['localhost', '127.0.0.1', 'example.com', 'app.example.com'],
  plainLoopbackRedirects: false,
  accessTokenSeconds: 3600,
};
