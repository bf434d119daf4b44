/*
 * Why a receiver of messages didn't accept one. The codes of Node, undici and Nodemailer decide, never their messages,
 * which quote addresses and secrets.
 */

import { proxyOf } from '../shared/proxy.ts';

const closes = 'closes the connection';
const unanswered = 'does not answer';
const untrusted = 'has a certificate that is not trusted here: NODE_EXTRA_CA_CERTS=FILE names its authority';
const noTls = 'does not speak TLS at that port';
const noGreeting = 'refuses the greeting';
const throughProxy = 'cannot be reached through the proxy';

/** What the receiver does, by the code, or by the code and the SMTP command that it refused. */
const words: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'takes no connections at that port',
  ECONNRESET: closes,
  ECONNECTION: closes,
  EPIPE: closes,
  UND_ERR_SOCKET: closes,
  EHOSTUNREACH: 'cannot be reached from here',
  ENETUNREACH: 'cannot be reached from here',
  ENOTFOUND: 'has a name that is not found',
  EAI_AGAIN: 'has a name that cannot be looked up now',
  EDNS: 'has a name that is not found',
  ETIMEDOUT: unanswered,
  UND_ERR_CONNECT_TIMEOUT: unanswered,
  EPROXY: throughProxy,
  UND_ERR_ABORTED: throughProxy,
  CERT_HAS_EXPIRED: 'has a certificate that has expired',
  CERT_NOT_YET_VALID: 'has a certificate that is not valid yet',
  ERR_TLS_CERT_ALTNAME_INVALID: 'has a certificate for another name',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'has a certificate that it signed itself: NODE_EXTRA_CA_CERTS=FILE lets it be trusted',
  SELF_SIGNED_CERT_IN_CHAIN: untrusted,
  UNABLE_TO_GET_ISSUER_CERT: untrusted,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: untrusted,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: untrusted,
  EPROTO: noTls,
  ERR_SSL_WRONG_VERSION_NUMBER: noTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: noTls,
  ETLS: 'offers no encryption',
  EPROTOCOL: noGreeting,
  'ECONNECTION EHLO': noGreeting,
  EAUTH: 'refuses the user or the password',
  EENVELOPE: 'refuses the sender or a recipient',
  EMESSAGE: 'refuses the message',
  EABORT: 'had not accepted it when the process stopped',
};

interface Failure {
  readonly code?: unknown;
  /** Of Nodemailer's errors: the code of the error below, the SMTP command, and the status of the answer. */
  readonly originalCode?: string;
  readonly command?: string;
  readonly responseCode?: number;
}

/** Errors of the first connection, which may be to a proxy. */
const ofConnection = /^(?:ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT)$/;

/** Turns the error of a request to `url` into a sentence about `target` or the proxy, with a status or a code. */
export function faultOf(target: string, url: string, { code, originalCode, command, responseCode }: Failure): Error {
  const codes = [originalCode, `${code} ${command}`, code].map(String);
  const who = proxyOf(url) !== undefined && codes.some((each) => ofConnection.test(each)) ? 'the proxy' : target;
  const said = words[codes.find((each) => Object.hasOwn(words, each)) ?? ''] ?? 'cannot be reached';
  return new Error(`${who} ${said} (${responseCode ?? originalCode ?? code ?? 'no code'})`);
}
