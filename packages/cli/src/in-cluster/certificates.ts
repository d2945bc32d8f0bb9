/**
 * The command `in-cluster certificates`, which maintains the certificate of the namespace's Docker daemons, signed by the server. A hook and a
 * schedule run it. It renews the certificate if a third of the validity is left, a name is missing, or the Secret is damaged.
 */
import { X509Certificate } from 'node:crypto'
import { systemClock } from '@windlass/kit'
import { DOCKER_SERVER_NAME, newSignRequest } from '@windlass/manifests'
import type { InClusterConfig } from './config.ts'
import { retryUnreachable, requireAdmin, type CommandContext } from './context.ts'
import { applySecret, readSecret } from './secrets.ts'

/** Codefresh names, which the pods of Docker daemons mount. */
const SECRET = 'codefresh-certs-server'
const KEYS = { ca: 'ca.pem', certificate: 'server-cert.pem', key: 'server-key.pem' } as const
const COMMON_NAME = 'docker.codefresh.io'
const DAY_MS = 86_400_000
/** Annotation with the expiry in RFC 3339, for users and alerts. */
const EXPIRES = 'windlass.io/certificate-expires'

/** Creates or renews the certificate, and prints its expiry. */
export async function renewCertificates(context: CommandContext): Promise<void> {
  const kube = context.kube()
  const names = namesOf(context.config, kube.namespace)
  const days = context.config.CERTIFICATE_DAYS
  const current = await readSecret(kube, SECRET, KEYS.certificate)
  const isComplete =
    (await readSecret(kube, SECRET, KEYS.key)) !== undefined && (await readSecret(kube, SECRET, KEYS.ca)) !== undefined
  const reason = isComplete ? reasonToRenew(current, { names, days }, systemClock.now()) : 'it is missing or incomplete'
  if (reason === undefined) {
    context.out.note(`The certificate of the Docker daemons is valid until ${current === undefined ? '' : expiryOf(current)}.`)
    return
  }
  const admin = requireAdmin(context)
  const { key, csr } = newSignRequest(COMMON_NAME)
  const signed = await retryUnreachable(() => admin.certificates.sign({ csr, names, days }))
  const expires = new Date(signed.expiresAt).toISOString()
  await applySecret(kube, {
    name: SECRET,
    values: { [KEYS.ca]: signed.ca, [KEYS.certificate]: signed.certificate, [KEYS.key]: key },
    annotations: { [EXPIRES]: expires },
    owner: { kind: 'ConfigMap', name: 'codefresh-dind-config' },
  })
  context.out.note(`The Docker daemons have a new certificate (${reason}), valid until ${expires}.`)
}

/** Returns the names (`DNS:…`, `IP:…`) by which engines may connect to a daemon of the namespace. */
export function namesOf(
  { NAMES, CLUSTER_DOMAIN }: Pick<InClusterConfig, 'NAMES' | 'CLUSTER_DOMAIN'>,
  namespace: string,
): string[] {
  const service = `*.dind.${namespace}`
  const hosts = [DOCKER_SERVER_NAME, COMMON_NAME, 'dind', service, `${service}.svc`, `${service}.svc.${CLUSTER_DOMAIN}`]
  const more = (NAMES ?? '').split(',').map((name) => name.trim())
  return ['IP:127.0.0.1', ...hosts.map((host) => `DNS:${host}`), ...more.filter((name) => name !== '')]
}

/** Returns why a certificate (PEM) must be renewed, given the requested validity and names; undefined if it need not be. */
export function reasonToRenew(
  pem: string | undefined,
  { names, days }: { readonly names: readonly string[]; readonly days: number },
  now: number,
): string | undefined {
  const certificate = pem === undefined ? undefined : read(pem)
  if (certificate === undefined) return 'the old one cannot be read'
  const from = Date.parse(certificate.validFrom)
  const to = Date.parse(certificate.validTo)
  if (now >= to) return 'the old one has expired'
  if (to - now < (to - from) / 3) return `the old one expires on ${new Date(to).toISOString()}`
  // One day of tolerance, because the signer dates the start back for clocks that are behind.
  if (to - from > (days + 1) * DAY_MS) return `the old one is valid for more than ${days} days`
  const held = (certificate.subjectAltName ?? '').split(',').map((name) => name.trim().replace(/^IP Address:/, 'IP:'))
  const missing = names.find((name) => !held.includes(name))
  return missing === undefined ? undefined : `the old one lacks the name ${missing}`
}

function expiryOf(pem: string): string {
  const certificate = read(pem)
  return certificate === undefined ? 'an unknown time' : new Date(certificate.validTo).toISOString()
}

function read(pem: string): X509Certificate | undefined {
  try {
    return new X509Certificate(pem)
  } catch {
    return undefined
  }
}
