/**
 * `in-cluster certificates`: the lasting certificate of the namespace's Docker daemons, signed by the server. Run by a hook and by a schedule;
 * it makes a new one when a third of the validity is left, when a name is missing, or when the Secret is damaged.
 */
import { X509Certificate } from 'node:crypto'
import { systemClock } from '@windlass/kit'
import { DOCKER_SERVER_NAME, newSignRequest } from '@windlass/manifests'
import { SignedCertificate } from '@windlass/protocol'
import type { InClusterConfig } from './config.ts'
import { patiently, requireAdmin, type Place } from './place.ts'
import { keepSecret, readSecret } from './secrets.ts'

/** Names of the vendor: what pods of Docker daemons mount. */
const SECRET = 'codefresh-certs-server'
const KEYS = { ca: 'ca.pem', certificate: 'server-cert.pem', key: 'server-key.pem' } as const
const COMMON_NAME = 'docker.codefresh.io'
/** RFC 3339; for people and for alerts. */
const EXPIRES = 'windlass.io/certificate-expires'

/** Makes or renews the certificate; prints which, and until when it is good. */
export async function keepCertificates(place: Place): Promise<void> {
  const kube = place.kube()
  const names = namesOf(place.config, kube.namespace)
  const current = await readSecret(kube, SECRET, KEYS.certificate)
  const whole =
    (await readSecret(kube, SECRET, KEYS.key)) !== undefined && (await readSecret(kube, SECRET, KEYS.ca)) !== undefined
  const why = whole ? reasonToRenew(current, names, systemClock.now()) : 'there is none'
  if (why === undefined) {
    place.out.note(`The certificate of the Docker daemons is good until ${current === undefined ? '' : expiryOf(current)}.`)
    return
  }
  const admin = requireAdmin(place)
  const { key, csr } = newSignRequest(COMMON_NAME)
  const signed = await patiently(() => admin.call('POST', '/v1/certificates', SignedCertificate, { body: { csr, names } }))
  const expires = new Date(signed.expiresAt).toISOString()
  await keepSecret(kube, {
    name: SECRET,
    values: { [KEYS.ca]: signed.ca, [KEYS.certificate]: signed.certificate, [KEYS.key]: key },
    annotations: { [EXPIRES]: expires },
    owner: { kind: 'ConfigMap', name: 'codefresh-dind-config' },
  })
  place.out.note(`The Docker daemons have a new certificate (${why}); it is good until ${expires}.`)
}

/** `DNS:…` and `IP:…` by which engines may know a daemon of the namespace. */
export function namesOf(
  { NAMES, CLUSTER_DOMAIN }: Pick<InClusterConfig, 'NAMES' | 'CLUSTER_DOMAIN'>,
  namespace: string,
): string[] {
  const service = `*.dind.${namespace}`
  const hosts = [DOCKER_SERVER_NAME, COMMON_NAME, 'dind', service, `${service}.svc`, `${service}.svc.${CLUSTER_DOMAIN}`]
  const more = (NAMES ?? '').split(',').map((name) => name.trim())
  return ['IP:127.0.0.1', ...hosts.map((host) => `DNS:${host}`), ...more.filter((name) => name !== '')]
}

/** Why a certificate (PEM) must be made anew; undefined when it need not. */
export function reasonToRenew(pem: string | undefined, names: readonly string[], now: number): string | undefined {
  const certificate = pem === undefined ? undefined : read(pem)
  if (certificate === undefined) return 'the old one cannot be read'
  const from = Date.parse(certificate.validFrom)
  const to = Date.parse(certificate.validTo)
  if (now >= to) return 'the old one has expired'
  if (to - now < (to - from) / 3) return `the old one expires on ${new Date(to).toISOString()}`
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
