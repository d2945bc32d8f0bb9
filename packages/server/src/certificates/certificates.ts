/** The private CA of the account: created at first use, with its key encrypted in the database. Signs the certificates of daemons and engines. */
import { fault } from '@windlass/kit'
import { issueClient, newAuthority, readAlternativeNames, readSignRequest, signServer, type Authority } from '@windlass/manifests'
import type { CertificateRequest, SignedCertificate } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { authorityPlace } from '../secrets/places.ts'
import { findMeta, insertMeta } from '../store/account/meta.ts'

const DAY_MS = 86_400_000
const YEAR_MS = 365 * DAY_MS
/** Longer than the certificate of any daemon; those are renewed with each upgrade of the chart. */
const AUTHORITY_MS = 20 * YEAR_MS
const SERVER_DAYS = 3 * 365

const Stored = z.object({ certificate: z.string(), key: z.string() })

/** Prefix of the `meta` key that holds the sealed CA of an account. */
export const AUTHORITY_PREFIX = 'authority/'
const authorityKey = (accountId: string): string => `${AUTHORITY_PREFIX}${accountId}`

async function readAuthority(app: App): Promise<Authority> {
  const meta = authorityKey(app.accountId)
  const known = await findMeta(app.store.query, meta)
  const place = authorityPlace(meta)
  if (known !== undefined) return Stored.parse(JSON.parse(app.vault.open(place, known)))
  const fresh = newAuthority({ now: app.clock.now(), validMs: AUTHORITY_MS })
  // Another server may have stored its CA first; the stored one is used.
  const stored = await app.store.write(async (tx) =>
    insertMeta(tx, meta, (await app.vault.sealer(tx)).seal(place, JSON.stringify(fresh))),
  )
  return Stored.parse(JSON.parse(app.vault.open(place, stored)))
}

/** Returns the PEM of the CA that daemons and engines trust. */
export async function authorityCertificate(app: App): Promise<string> {
  return (await readAuthority(app)).certificate
}

/** Signs the certificate of the Docker daemons of a namespace. Throws `request-invalid` for an invalid request or invalid names. */
export async function signCertificate(app: App, request: CertificateRequest): Promise<SignedCertificate> {
  const read = readSignRequest(request.csr)
  if ('problem' in read)
    throw fault('request-invalid', {
      message: `Cannot sign the certificate request. ${read.problem}`,
      hint: 'Send a PKCS#10 request in PEM format, for example of `openssl req -new`.',
    })
  const names = readAlternativeNames(request.names)
  if ('problem' in names)
    throw fault('request-invalid', {
      message: `Cannot sign the certificate request. ${names.problem}`,
      hint: 'Send names such as DNS:dind or IP:127.0.0.1.',
    })
  const authority = await readAuthority(app)
  const now = app.clock.now()
  const validMs = (request.days ?? SERVER_DAYS) * DAY_MS
  const certificate = signServer(authority, { ...read, names, now, validMs })
  return { ca: authority.certificate, certificate, expiresAt: now + validMs }
}

/** Issues the client certificate of an engine for daemons whose certificate this CA signed. */
export async function engineCertificate(app: App, validMs: number): Promise<{ ca: string; cert: string; key: string }> {
  const authority = await readAuthority(app)
  return { ca: authority.certificate, ...issueClient(authority, { now: app.clock.now(), validMs }) }
}
