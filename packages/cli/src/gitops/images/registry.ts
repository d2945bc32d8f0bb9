/** Reads what a registry has of an image, with the API of distribution: its digest, size, platforms and labels. It pulls no layers. */
import { createHash } from 'node:crypto'
import { defined, isLoopback } from '@windlass/kit'
import { fault, type Fault } from '@windlass/kit/faults'
import { isRecord, parseJson } from '@windlass/kit/json'
import type { RegistryLogin } from '@windlass/local/machine'
import { basicAuth, readChallenge, registryHost, sharesDomain, type ImageReference } from '@windlass/protocol'
import { z } from 'zod'
import { jsonOf, type Answered, type Ask } from './ask.ts'

export interface RegistryImage {
  readonly digest: string
  /** Such as `linux/amd64`. */
  readonly platforms: readonly string[]
  /** Of the layers of the first platform, compressed. */
  readonly sizeBytes?: number
  readonly builtAt?: number
  readonly labels: Readonly<Record<string, string>>
}

export interface RegistryOptions {
  readonly ask: Ask
  /** Returns the login of a registry by its host. */
  readonly loginOf: (host: string) => RegistryLogin | undefined
  /** The file that `loginOf` reads, as the user has named it. Absent if there is none. */
  readonly loginFile?: string | undefined
  /** Call the registry without TLS. A registry at a loopback address is always called so. */
  readonly plainHttp: boolean
}

const MANIFESTS = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ')
const PREFERRED = 'linux/amd64'
const DEFAULT_TAG = 'latest'

const Platform = z.looseObject({ os: z.string(), architecture: z.string(), variant: z.string().optional() })
type Platform = z.output<typeof Platform>
const Content = z.looseObject({
  // It becomes a part of a path.
  digest: z.string().regex(/^[a-z0-9+._-]+:[A-Za-z0-9=_-]+$/),
  size: z.number().optional(),
  platform: Platform.optional(),
})
const Manifest = z.looseObject({
  config: Content.optional(),
  layers: z.array(Content).optional(),
  manifests: z.array(Content).optional(),
})
type Manifest = z.output<typeof Manifest>
const Config = z.looseObject({
  ...Platform.partial().shape,
  created: z.string().optional(),
  config: z.looseObject({ Labels: z.record(z.string(), z.string()).nullish() }).nullish(),
})

/** Throws `not-found`, `service-refused` and `service-unreachable`. */
export async function readImage(reference: ImageReference, options: RegistryOptions): Promise<RegistryImage> {
  const { name, tag = DEFAULT_TAG, digest } = reference
  const slash = name.indexOf('/')
  const [domain, path] = [name.slice(0, slash), name.slice(slash + 1)]
  const host = registryHost(domain)
  if (host === undefined) throw fault('usage', { message: `"${domain}" is not the host of a registry.` })
  const isPlain = options.plainHttp || isLoopback(`http://${host}`)
  const registry = openRepository({ ...options, base: new URL(`${isPlain ? 'http' : 'https'}://${host}/v2/`), host, path })
  const first = await registry.manifest(digest ?? tag)
  if (digest !== undefined && digest !== first.digest)
    throw fault('service-refused', { message: `${host} returned another image for ${digest}.` })
  const { manifests } = first.content
  if (manifests === undefined) return { digest: first.digest, ...(await describe(first.content, registry)) }
  // Attestations are entries of an index too, for the platform unknown/unknown.
  const found = manifests.filter(({ platform }) => platform !== undefined && platform.os !== 'unknown')
  const platforms = found.flatMap(({ platform }) => (platform === undefined ? [] : [nameOf(platform)]))
  const chosen = found[Math.max(0, platforms.indexOf(PREFERRED))] ?? manifests[0]
  if (chosen === undefined) return { digest: first.digest, platforms, labels: {} }
  const inner = await registry.manifest(chosen.digest)
  return { digest: first.digest, ...(await describe(inner.content, registry)), platforms: [...new Set(platforms)] }
}

/** Reads the manifest of one platform and its configuration. */
async function describe({ config, layers = [] }: Manifest, registry: Repository): Promise<Omit<RegistryImage, 'digest'>> {
  const sizeBytes = layers.reduce((sum, { size = 0 }) => sum + size, 0)
  const read = config === undefined ? undefined : Config.safeParse(await registry.blob(config.digest)).data
  if (read === undefined) return { platforms: [], labels: {}, sizeBytes }
  const { os, architecture, variant, created } = read
  const builtAt = Date.parse(created ?? '')
  return {
    platforms: os === undefined || architecture === undefined ? [] : [nameOf({ os, architecture, variant })],
    labels: read.config?.Labels ?? {},
    sizeBytes,
    // Reproducible builds have the time 0, or one before it.
    ...defined({ builtAt: builtAt > 0 ? builtAt : undefined }),
  }
}

function nameOf({ os, architecture, variant }: Platform): string {
  return [os, architecture, ...(variant === undefined ? [] : [variant])].join('/')
}

interface Repository {
  manifest(reference: string): Promise<{ readonly digest: string; readonly content: Manifest }>
  /** Reads a blob that is JSON. */
  blob(digest: string): Promise<unknown>
}

interface Place extends RegistryOptions {
  readonly base: URL
  readonly host: string
  readonly path: string
}

function openRepository(place: Place): Repository {
  const { base, path, host } = place
  let authorization: string | undefined

  async function get(url: URL, accept: string): Promise<Answered> {
    const call = (): Promise<Answered> => place.ask(url, { accept, ...defined({ authorization }) })
    const answer = await call()
    if (answer.status !== 401 || authorization !== undefined) return answer
    authorization = await authorize(place, answer)
    return call()
  }

  return {
    async manifest(reference) {
      const url = new URL(`${path}/manifests/${reference}`, base)
      const answer = await get(url, MANIFESTS)
      if (answer.status === 404)
        throw fault('not-found', {
          message: `${host} does not have the image ${path}:${reference}.`,
          hint: 'Push it first, or correct its name.',
        })
      if (answer.status === 401 || answer.status === 403) throw refusedLogin(place, answer)
      const content = Manifest.safeParse(jsonOf(url, answer)).data
      if (content === undefined || (content.config === undefined && content.manifests === undefined))
        throw fault('service-refused', {
          message: `${host} has the image ${path} in a form that is not that of OCI or Docker 2.2.`,
          hint: 'Push it again with a current version of Docker.',
        })
      return { digest: `sha256:${createHash('sha256').update(answer.text).digest('hex')}`, content }
    },
    async blob(digest) {
      const url = new URL(`${path}/blobs/${digest}`, base)
      const answer = await get(url, 'application/json')
      const target = answer.status >= 300 && answer.status < 400 ? URL.parse(answer.headers['location'] ?? '', url.href) : null
      if (target === null) return jsonOf(url, answer)
      if (target.protocol !== 'https:' && target.protocol !== base.protocol)
        throw fault('service-refused', { message: `${host} leads to ${target.host} without TLS.` })
      // The storage behind a registry has its own credential in the URL.
      return jsonOf(target, await place.ask(target, { accept: 'application/json' }))
    },
  }
}

/** Returns the credential that the registry asks for. */
async function authorize(place: Place, { headers, status }: Answered): Promise<string> {
  const { ask, base, host, path, loginOf } = place
  const login = loginOf(host)
  const basic = login && basicAuth(login.username, login.password)
  const challenge = readChallenge(headers['www-authenticate'])
  if (challenge === undefined) {
    if (basic === undefined) throw refusedLogin(place, { status })
    return basic
  }
  const url = URL.parse(challenge.realm)
  const isSafe = url !== null && (url.protocol === 'https:' || url.protocol === base.protocol)
  if (!isSafe || (basic !== undefined && !sharesDomain(url, base)))
    throw fault('service-refused', {
      message: `${host} wants the login at ${url?.host ?? 'an address that is not a URL'}, to which it is not sent.`,
      hint: 'Check that the image is in the registry that you mean.',
    })
  url.searchParams.set('scope', `repository:${path}:pull`)
  if (challenge.service !== undefined) url.searchParams.set('service', challenge.service)
  const answer = await ask(url, defined({ authorization: basic }))
  if (answer.status === 401 || answer.status === 403) throw refusedLogin(place, answer)
  const body = answer.status === 200 ? parseJson(answer.text) : undefined
  const token = isRecord(body) ? (body['token'] ?? body['access_token']) : undefined
  if (typeof token !== 'string')
    throw fault('service-refused', { message: `${url.host} returned no token for ${host} (${answer.status}).` })
  return `Bearer ${token}`
}

function refusedLogin({ host, loginOf, loginFile }: Place, { status }: Pick<Answered, 'status'>): Fault {
  return fault('service-refused', {
    message: `${host} does not let this login, or none, read the image (${status}).`,
    hint:
      loginFile === undefined
        ? 'Name a file with its login, in the form of config.json of Docker, with --registry-config.'
        : loginOf(host) === undefined
          ? `${loginFile} has no login for ${host}. Logins in a credential helper (credsStore) are not read.`
          : `Check the login for ${host} in ${loginFile}, and that it may read the repository.`,
  })
}
