/** The registries that the user has logged in to with `docker login`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseJson } from '@windlass/kit/json'
import type { RegistryAccess } from '@windlass/protocol'
import { z } from 'zod'

/** An entry whose login a credential helper keeps has no fields. One that is not an entry of Docker counts as such. */
const Entry = z
  .looseObject({ username: z.string().optional(), password: z.string().optional(), auth: z.string().optional() })
  .catch({})
const DockerConfig = z.looseObject({ auths: z.record(z.string(), Entry).nullish() })

export interface RegistryLogin {
  /** As the names of images of the registry begin. */
  readonly domain: string
  readonly username: string
  readonly password: string
}

/** Reads the logins in Docker's configuration file, except those kept by a credential helper. Never throws. */
export function readRegistryLogins(environment: Readonly<Record<string, string | undefined>>): RegistryAccess[] {
  const folder = environment['DOCKER_CONFIG'] ?? join(environment['HOME'] ?? '/', '.docker')
  const logins = parseRegistryLogins(readText(join(folder, 'config.json'))) ?? []
  return logins.map((login) => ({ ...login, context: login.domain, isDefault: false }))
}

/** Returns the logins in a text in the form of Docker's configuration file, which Secrets of the type `kubernetes.io/dockerconfigjson` have too; undefined for another text. */
export function parseRegistryLogins(text: string): RegistryLogin[] | undefined {
  const config = DockerConfig.safeParse(parseJson(text)).data
  if (config === undefined) return undefined
  return Object.entries(config.auths ?? {}).flatMap(([address, { username, password, auth = '' }]) => {
    const domain = toDomain(address)
    if (username !== undefined && password !== undefined) return [{ domain, username, password }]
    const pair = Buffer.from(auth, 'base64').toString('utf8')
    const colon = pair.indexOf(':')
    return colon <= 0 ? [] : [{ domain, username: pair.slice(0, colon), password: pair.slice(colon + 1) }]
  })
}

/** Returns the domain of an entry. That of Docker Hub is the URL of an obsolete API. */
function toDomain(address: string): string {
  const host = address.replace(/^https?:\/\//, '').replace(/\/.*$/, '')
  return host === 'index.docker.io' ? 'docker.io' : host
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
