/** Which stores of secrets jobs may use, from `WINDLASS_GITLAB_VAULT_*`. A job names the address of its store, and the manager calls it. */
import { fault, readConfig } from '@windlass/kit'
import { parseBaseUrl } from '@windlass/protocol'
import { z } from 'zod'

const PREFIX = 'WINDLASS_GITLAB_VAULT_'

const words = (text: string): string[] => text.split(/[\s,]+/).filter((word) => word !== '')

export const VaultConfig = z.object({
  URLS: z
    .string()
    .refine(
      (text) => words(text).length > 0 && words(text).every((word) => parseBaseUrl(word) !== undefined),
      'must be base URLs, separated by commas: http:// or https://, without user name, password, ? and #',
    )
    .optional()
    .describe(
      'Addresses of Vault, OpenBao and Key Vault that jobs may name, separated by commas. Any address if not set, and any Key Vault of Azure.',
    ),
})

type Environment = Readonly<Record<string, string | undefined>>

/** Returns the variables with addresses of the command line, which replace those of the environment. */
export function withVaultUrls(env: Environment, urls: readonly string[]): Environment {
  if (urls.some((url) => url.trim() === ''))
    throw fault('usage', { message: '--vault-url is empty.', hint: 'Name an address, or leave the option out to allow any.' })
  return urls.length === 0 ? env : { ...env, [`${PREFIX}URLS`]: urls.join(',') }
}

/** Returns the addresses that jobs may name, as `parseBaseUrl` writes them; undefined for any. Throws `config-invalid`. */
export function allowedVaults(env: Environment): readonly string[] | undefined {
  if (env[`${PREFIX}URLS`]?.trim() === '')
    throw fault('config-invalid', {
      message: `${PREFIX}URLS is empty.`,
      hint: 'Name addresses, or remove the variable to allow any.',
    })
  const { URLS } = readConfig(VaultConfig, env, PREFIX)
  return URLS === undefined ? undefined : words(URLS).flatMap((word) => parseBaseUrl(word) ?? [])
}
