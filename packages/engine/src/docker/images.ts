/** Image calls: inspect, pull, tag, push. Progress arrives as JSON lines, which may contain an error. */
import { fault, hasCode } from '@windlass/kit'
import { z } from 'zod'
import { ignoring } from './containers.ts'
import { unreachable, type DockerHttp } from './http.ts'

export interface Image {
  readonly id: string
  /** `NAME=VALUE` entries. */
  readonly environment: readonly string[]
  readonly workingDirectory: string
  /** `name@sha256:...` for each registry name that it was pulled from or pushed to. */
  readonly repoDigests: readonly string[]
  readonly labels: Readonly<Record<string, string>>
  readonly sizeBytes: number
}

export interface ListedImage {
  readonly id: string
  readonly labels: Readonly<Record<string, string>>
}

export interface RegistryLogin {
  /** Host with an optional port. */
  readonly domain: string
  readonly username: string
  readonly password: string
}

/** One line of progress. Belongs to a layer if `id` is set. */
export interface Progress {
  readonly id?: string | undefined
  readonly status: string
}

const Inspected = z.looseObject({
  Id: z.string(),
  RepoDigests: z.array(z.string()).nullish(),
  Size: z.number().nullish(),
  Config: z
    .looseObject({
      Env: z.array(z.string()).nullish(),
      WorkingDir: z.string().nullish(),
      Labels: z.record(z.string(), z.string()).nullish(),
    })
    .nullish(),
})
const Listed = z.array(z.looseObject({ Id: z.string(), Labels: z.record(z.string(), z.string()).nullish() }))
const Distribution = z.looseObject({ Descriptor: z.looseObject({ digest: z.string() }) })
const ProgressLine = z.looseObject({
  status: z.string().optional(),
  id: z.string().optional(),
  error: z.string().optional(),
  aux: z.looseObject({ Digest: z.string().optional() }).optional(),
})

export interface TransferOptions {
  readonly login?: RegistryLogin | undefined
  readonly onProgress?: ((progress: Progress) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

export interface Images {
  inspectImage(name: string): Promise<Image | undefined>
  /** Returns the images with this label, newest first. */
  listImages(label: string): Promise<readonly ListedImage[]>
  /** Returns the current digest of a name at its registry, or undefined if the registry does not return one. */
  findDigest(name: string, login: RegistryLogin | undefined): Promise<string | undefined>
  /** Throws `docker-refused` with the error message of the registry. */
  pullImage(name: string, options: TransferOptions): Promise<void>
  /** Removes an image with all its names. Its parent layers remain as a cache. Ignores images that are missing or in use. */
  removeImage(id: string): Promise<void>
  tagImage(image: string, target: ImageName): Promise<void>
  /** Returns the digest of the manifest. Throws `docker-refused` with the error message of the registry. */
  pushImage(target: ImageName, options: TransferOptions): Promise<string | undefined>
}

export function imageCalls(http: DockerHttp): Images {
  return {
    async inspectImage(name) {
      const found = await ignoring([404, 400], http.json('GET', `/images/${encodeName(name)}/json`, Inspected))
      return found === undefined
        ? undefined
        : {
            id: found.Id,
            environment: found.Config?.Env ?? [],
            workingDirectory: found.Config?.WorkingDir ?? '',
            repoDigests: found.RepoDigests ?? [],
            labels: found.Config?.Labels ?? {},
            sizeBytes: found.Size ?? 0,
          }
    },
    async listImages(label) {
      const query = { filters: JSON.stringify({ label: [label] }) }
      const found = await http.json('GET', '/images/json', Listed, { query })
      return found.map(({ Id, Labels }) => ({ id: Id, labels: Labels ?? {} }))
    },
    async findDigest(name, login) {
      const headers = { 'x-registry-auth': toRegistryAuth(login) }
      const call = http.json('GET', `/distribution/${encodeName(name)}/json`, Distribution, { headers })
      return (await ignoring([400, 401, 403, 404, 500, 503], call))?.Descriptor.digest
    },
    async pullImage(name, options) {
      const { repository, tag, digest } = parseImageName(name)
      await transfer(http, '/images/create', { query: { fromImage: repository, tag: digest ?? tag ?? 'latest' }, options })
    },
    removeImage: (id) =>
      ignoring([404, 409], http.done('DELETE', `/images/${encodeName(id)}`, { query: { force: true, noprune: true } })),
    tagImage: (image, { repository, tag }) =>
      http.done('POST', `/images/${encodeName(image)}/tag`, { query: { repo: repository, tag } }),
    pushImage: ({ repository, tag }, options) =>
      transfer(http, `/images/${encodeName(repository)}/push`, { query: { tag }, options }),
  }
}

async function transfer(
  http: DockerHttp,
  path: string,
  call: { query: Record<string, string | undefined>; options: TransferOptions },
): Promise<string | undefined> {
  const { login, onProgress, signal } = call.options
  const response = await http.stream('POST', path, {
    query: call.query,
    headers: { 'x-registry-auth': toRegistryAuth(login) },
    signal,
  })
  let digest: string | undefined
  let rest = ''
  const read = (line: string): void => {
    if (line.trim() === '') return
    const progress = ProgressLine.parse(JSON.parse(line))
    if (progress.error !== undefined)
      throw fault('docker-refused', { message: progress.error, dockerStatus: 500, call: `POST ${path}` })
    digest = progress.aux?.Digest ?? digest
    if (progress.status !== undefined) onProgress?.({ id: progress.id, status: progress.status })
  }
  response.setEncoding('utf8')
  try {
    for await (const chunk of response) {
      const lines = `${rest}${chunk}`.split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) read(line)
    }
  } catch (error) {
    throw hasCode(error, 'ECONNRESET') ? unreachable(http.endpoint, error) : error
  }
  read(rest)
  return digest
}

/** Returns the header value of a login: JSON in URL-safe base64 (Docker Engine API, "Authentication"). */
export function toRegistryAuth(login: RegistryLogin | undefined): string {
  const auth = login === undefined ? {} : { username: login.username, password: login.password, serveraddress: login.domain }
  // The daemon requires padding, which Node's URL-safe form omits.
  return Buffer.from(JSON.stringify(auth)).toString('base64').replaceAll('+', '-').replaceAll('/', '_')
}

function encodeName(name: string): string {
  return name.split('/').map(encodeURIComponent).join('/').replaceAll('%3A', ':').replaceAll('%40', '@')
}

export interface ImageName {
  /** Includes the domain of the registry if there is one: `registry.example.com:5000/team/app`. */
  readonly repository: string
  readonly tag?: string | undefined
  /** `sha256:...` */
  readonly digest?: string | undefined
}

/** Parses `repository[:tag][@digest]`. */
export function parseImageName(text: string): ImageName {
  const [name = '', digest] = text.split('@')
  const colon = name.lastIndexOf(':')
  const hasTag = colon > name.lastIndexOf('/')
  return { repository: hasTag ? name.slice(0, colon) : name, tag: hasTag ? name.slice(colon + 1) : undefined, digest }
}

/** Returns the registry of a name. Default `docker.io`. */
export function registryDomain(repository: string): string {
  const [first = '', ...rest] = repository.split('/')
  return rest.length > 0 && (/[.:]/.test(first) || first === 'localhost') ? first : 'docker.io'
}
