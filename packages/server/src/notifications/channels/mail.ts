/** Mails through the mail server of the installation. */
import { isRecord } from '@windlass/kit/json'
import type { SendMailOptions, SMTPTransportOptions } from 'nodemailer'
import type { App } from '../../app.ts'
import type { Sent } from '../../outbox/sender.ts'
import { mailServerPlace } from '../../secrets/places.ts'
import type { Vault } from '../../secrets/vault.ts'
import { findMailServer } from '../../store/notifications.ts'
import type { MailServerRow } from '../../store/schema/schema.ts'
import { oneLine, type Notice } from '../notice.ts'

/** Limits of one mail, which together stay below the time that a message is held. Milliseconds. */
const WAITS = { dnsTimeout: 5_000, connectionTimeout: 10_000, greetingTimeout: 10_000, socketTimeout: 15_000 }
const LIMIT_MS = 40_000

export interface Recipient {
  readonly to: string
  /** Id of the message, which is part of the Message-ID: mail programs show a repeated mail once. */
  readonly id: string
}

/** Sends a notice to one address. */
export async function sendMail(app: App, notice: Notice, { to, id }: Recipient): Promise<Sent> {
  const server = await findMailServer(app.store.query, app.accountId)
  if (server === undefined) return { problem: 'No mail server is set.', mayRetry: true }
  if (!isAllowedRecipient(server, to)) return { problem: `The mail server may not send to ${domainOf(to)}.` }
  // Loaded by the first mail: most servers send none.
  const { createTransport } = await import('nodemailer')
  const transport = createTransport(toTransport(app.vault, server))
  const signal = AbortSignal.any([app.closing, AbortSignal.timeout(LIMIT_MS)])
  try {
    await transport.sendMail({ from: server.sender, to, signal, ...toMail(notice, { id, host: hostOfServer(app) }) })
    return { problem: null }
  } catch (error) {
    if (app.closing.aborted) throw error
    return toProblem(server.host, error)
  } finally {
    transport.close()
  }
}

/** Returns true if the settings of the mail server allow this recipient. */
export function isAllowedRecipient({ domains }: Pick<MailServerRow, 'domains'>, to: string): boolean {
  const allowed: unknown = JSON.parse(domains)
  if (!Array.isArray(allowed) || allowed.length === 0) return true
  return allowed.some((domain) => String(domain).toLowerCase() === domainOf(to))
}

function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1).toLowerCase()
}

function hostOfServer(app: App): string {
  return URL.parse(app.advertisedUrl())?.hostname.replace(/^\[|\]$/g, '') ?? 'windlass'
}

function toTransport(
  vault: Vault,
  server: MailServerRow,
): SMTPTransportOptions & { disableFileAccess: true; disableUrlAccess: true } {
  const { host, port, security, username, password, ca } = server
  return {
    host,
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    ...(username !== null &&
      password !== null && { auth: { user: username, pass: vault.open(mailServerPlace(server), password) } }),
    ...(ca !== null && { tls: { ca } }),
    ...WAITS,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

interface MailOf {
  readonly id: string
  /** Host of this server. */
  readonly host: string
}

function toMail({ title, about, details, url, build, notification, at }: Notice, { id, host }: MailOf): SendMailOptions {
  const branch = build?.branch === undefined ? '' : ` (${build.branch})`
  const lines = [`${title}.`, '', ...details.flatMap((line) => [line, '']), about, url, '']
  return {
    subject: oneLine(`[windlass] ${title}${branch}`, 250),
    text: [...lines, `Sent by the notification "${notification}" of Windlass.`].join('\n'),
    messageId: `<${id}@${host}>`,
    date: new Date(at),
    headers: {
      // RFC 3834: no vacation answers.
      'Auto-Submitted': 'auto-generated',
      'X-Windlass-Message': id,
      ...(build !== undefined && { 'X-Windlass-Build': build.id }),
    },
  }
}

/** 5xx answers are final (RFC 5321, 4.2.1). Without an answer the server is away, or its certificate is not accepted, which an operator can mend. */
function toProblem(host: string, error: unknown): Sent {
  const { responseCode, code }: Readonly<Record<string, unknown>> = isRecord(error) ? error : {}
  if (code === 'ETLS') return { problem: `The mail server ${host} cannot be used: it offers no STARTTLS.`, mayRetry: true }
  if (typeof responseCode === 'number') {
    const what = code === 'EAUTH' ? 'the login' : 'the mail'
    return { problem: `The mail server ${host} refused ${what}: ${responseCode}.`, mayRetry: responseCode < 500 }
  }
  const why = error instanceof Error ? oneLine(error.message, 200) : String(error)
  return { problem: `The mail server ${host} cannot be used: ${why}`, mayRetry: true }
}
