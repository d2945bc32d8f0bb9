/** The authority of the account: made at first use, its key sealed in the database, and what it signs. */
import { fault } from '@windlass/kit'
import { issueClient, newAuthority, readAlternativeNames, readSignRequest, signServer, type Authority } from '@windlass/manifests'
import type { CertificateRequest, SignedCertificate } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { findMeta, insertMeta } from '../store/meta.ts'

const YEAR_MS = 365 * 86_400_000
/** Longer than any daemon's certificate, which is made anew with each upgrade of the chart. */
const AUTHORITY_MS = 20 * YEAR_MS
const SERVER_MS = 3 * YEAR_MS

const Stored = z.object({ certificate: z.string(), key: z.string() })

async function readAuthority(app: App): Promise<Authority> {
  const meta = `authority/${app.accountId}`
  const known = await findMeta(app.store.query, meta)
  if (known !== undefined) return Stored.parse(JSON.parse(app.vault.open(meta, known)))
  const fresh = newAuthority({ now: app.clock.now(), validMs: AUTHORITY_MS })
  // Another server may have been faster: what is stored counts.
  const stored = await app.store.write((tx) => insertMeta(tx, meta, app.vault.seal(meta, JSON.stringify(fresh))))
  return Stored.parse(JSON.parse(app.vault.open(meta, stored)))
}

/** PEM of the authority: what daemons and engines trust. */
export async function authorityCertificate(app: App): Promise<string> {
  return (await readAuthority(app)).certificate
}

/** Signs the certificate of the Docker daemons of a namespace. Throws `request-invalid` for a request that is unfit, and for names that are none. */
export async function signCertificate(app: App, request: CertificateRequest): Promise<SignedCertificate> {
  const read = readSignRequest(request.csr)
  if ('problem' in read) throw fault('request-invalid', { message: `The certificate request cannot be signed. ${read.problem}` })
  const names = readAlternativeNames(request.names)
  if ('problem' in names)
    throw fault('request-invalid', { message: `The certificate request cannot be signed. ${names.problem}` })
  const authority = await readAuthority(app)
  const now = app.clock.now()
  const certificate = signServer(authority, { ...read, names, now, validMs: SERVER_MS })
  return { ca: authority.certificate, certificate, expiresAt: now + SERVER_MS }
}

/** What an engine proves itself with to a daemon whose certificate this authority signed; good for so many milliseconds. */
export async function engineCertificate(app: App, validMs: number): Promise<{ ca: string; cert: string; key: string }> {
  const authority = await readAuthority(app)
  return { ca: authority.certificate, ...issueClient(authority, { now: app.clock.now(), validMs }) }
}
