/** The registries that the user has logged in to with `docker login`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RegistryAccess } from '@windlass/protocol'
import { z } from 'zod'

const DockerConfig = z.looseObject({ auths: z.record(z.string(), z.looseObject({ auth: z.string().optional() })).optional() })

/** Reads the logins in Docker's configuration file, except those kept by a credential helper. Never throws. */
export function readRegistryLogins(environment: Readonly<Record<string, string | undefined>>): RegistryAccess[] {
  const folder = environment['DOCKER_CONFIG'] ?? join(environment['HOME'] ?? '/', '.docker')
  const parsed = DockerConfig.safeParse(readJson(join(folder, 'config.json')))
  if (!parsed.success) return []
  return Object.entries(parsed.data.auths ?? {}).flatMap(([address, { auth }]) => {
    const [username, ...rest] = Buffer.from(auth ?? '', 'base64')
      .toString('utf8')
      .split(':')
    if (username === undefined || username === '' || rest.length === 0) return []
    const domain = toDomain(address)
    return [{ context: domain, isDefault: false, domain, username, password: rest.join(':') }]
  })
}

/** Returns the domain of an entry. That of Docker Hub is the URL of an obsolete API. */
function toDomain(address: string): string {
  const host = address.replace(/^https?:\/\//, '').replace(/\/.*$/, '')
  return host === 'index.docker.io' ? 'docker.io' : host
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
