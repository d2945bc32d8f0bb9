/** The login of a registry in a file in the form of `config.json` of Docker. */
import { fault } from '@windlass/kit/faults'
import { parseRegistryLogins, type RegistryLogin } from '@windlass/local/machine'
import { registryHost } from '@windlass/protocol'

/** Returns the login of a registry; undefined if the text has none. `host`: from `registryHost`. Throws `usage` for a text that is not such a file. */
export function loginFor(text: string, host: string): RegistryLogin | undefined {
  const logins = parseRegistryLogins(text)
  if (logins === undefined)
    throw fault('usage', {
      message: 'The file with the logins of registries is not in the form of config.json of Docker.',
      hint: 'It needs `auths`, with a host and its login.',
    })
  return logins.find(({ domain }) => registryHost(domain) === host)
}
