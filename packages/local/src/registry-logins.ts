/** The registries that `docker login` of this user knows. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RegistryAccess } from '@windlass/protocol'
import { z } from 'zod'

const DockerConfig = z.looseObject({ auths: z.record(z.string(), z.looseObject({ auth: z.string().optional() })).optional() })

/** Logins that stand in Docker's own file; those kept by a credential helper are left out. Never throws. */
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

/** Docker Hub's entry is a URL of an API that is long gone. */
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
