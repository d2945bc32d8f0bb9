/** The mail server of the installation. An admin names it, so it may have any address. Its password is sealed and never shown. */
import { fault } from '@windlass/kit'
import type { MailServer, MailServerInput } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { present } from '../builds/lifecycle/view.ts'
import { mailServerPlace } from '../secrets/places.ts'
import { deleteMailServer, findMailServer, saveMailServer } from '../store/notifications.ts'
import type { MailServerRow } from '../store/schema/schema.ts'

const PORTS = { starttls: 587, tls: 465, none: 25 } as const

/** Returns the mail server. Throws `not-found`. */
export async function showMailServer(app: App): Promise<MailServer> {
  const row = await findMailServer(app.store.query, app.accountId)
  if (row === undefined) throw missing()
  return toMailServer(row)
}

/**
 * Sets the mail server. Without a password keeps the one that is stored for the same host and user name, so that it is never sent elsewhere. Throws
 * `request-invalid`.
 */
export async function putMailServer(app: App, input: z.output<typeof MailServerInput>): Promise<MailServer> {
  const { host, security, username, password, from, domains, ca, port = PORTS[security] } = input
  if (password !== undefined && username === undefined)
    throw fault('request-invalid', { message: 'A password needs a user name.', hint: 'Set `username`.' })
  if (username !== undefined && security === 'none')
    throw fault('request-invalid', {
      message: 'A login needs an encrypted connection.',
      hint: 'Use the security `starttls` or `tls`.',
    })
  return app.store.write(async (tx) => {
    const before = await findMailServer(tx.query, app.accountId)
    const isSame = before?.host === host && before.username === (username ?? null)
    if (username !== undefined && password === undefined && (!isSame || before.password === null))
      throw fault('request-invalid', { message: 'The password is missing.', hint: 'Set `password` for this host and user name.' })
    const sealer = await app.vault.sealer(tx)
    const place = mailServerPlace({ account_id: app.accountId })
    const row: MailServerRow = {
      account_id: app.accountId,
      host,
      port,
      security,
      username: username ?? null,
      password:
        password === undefined ? (username === undefined ? null : (before?.password ?? null)) : sealer.seal(place, password),
      sender: from,
      domains: JSON.stringify(domains),
      ca: ca ?? null,
      updated_at: app.clock.now(),
    }
    await saveMailServer(tx, row)
    return toMailServer(row)
  })
}

/** Removes the mail server. Mails that are not sent yet wait for another one. Throws `not-found`. */
export async function removeMailServer(app: App): Promise<void> {
  await app.store.write(async (tx) => {
    if (!(await deleteMailServer(tx, app.accountId))) throw missing()
  })
}

function missing(): Error {
  return fault('not-found', {
    message: 'This installation has no mail server.',
    hint: 'Set one with `windlass set mail-server`.',
  })
}

function toMailServer(row: MailServerRow): MailServer {
  return {
    host: row.host,
    port: row.port,
    security: row.security,
    hasPassword: row.password !== null,
    from: row.sender,
    domains: JSON.parse(row.domains) as string[],
    updatedAt: row.updated_at,
    ...present({ username: row.username, ca: row.ca }),
  }
}
