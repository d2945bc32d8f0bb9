/** Logins of registries in the form of `config.json` of Docker, which Secrets of the type `kubernetes.io/dockerconfigjson` have too. */
import { fault } from '@windlass/kit/faults'
import { isRecord, parseJson } from '@windlass/kit/json'
import { registryHost } from '@windlass/protocol'

export interface RegistryLogin {
  readonly username: string
  readonly password: string
}

/** Returns the login of a registry; undefined if the text has none. `host`: from `registryHost`. Throws `usage` for a text that is not such a file. */
export function loginFor(text: string, host: string): RegistryLogin | undefined {
  const config = parseJson(text)
  const auths = isRecord(config) ? (config['auths'] ?? {}) : undefined
  if (!isRecord(auths))
    throw fault('usage', {
      message: 'The file with the logins of registries is not in the form of config.json of Docker.',
      hint: 'It needs `auths`, with a host and its login.',
    })
  const found = Object.entries(auths).find(([server]) => hostOfServer(server) === host)?.[1]
  if (!isRecord(found)) return undefined
  const { username, password, auth } = found
  if (typeof username === 'string' && typeof password === 'string') return { username, password }
  const pair = typeof auth === 'string' ? Buffer.from(auth, 'base64').toString('utf8') : ''
  const colon = pair.indexOf(':')
  return colon <= 0 ? undefined : { username: pair.slice(0, colon), password: pair.slice(colon + 1) }
}

/** Docker writes Docker Hub as `https://index.docker.io/v1/`. */
function hostOfServer(server: string): string | undefined {
  return registryHost(server.replace(/^https?:\/\//, '').split('/')[0] ?? '')
}
