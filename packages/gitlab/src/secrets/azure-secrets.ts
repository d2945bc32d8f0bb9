/** Reads a secret of Azure Key Vault, with the ID token of the job as proof of an application of Microsoft Entra ID. */
import { azureFederatedToken, callCloud, isRefusedWith } from '@windlass/cloud'
import { fault, parseJson } from '@windlass/kit'
import { parseBaseUrl } from '@windlass/protocol'
import { z } from 'zod'
import type { AzureSecret } from '../job/payload.ts'
import { allowedVaults } from './config.ts'
import { requireToken, type SecretContext } from './secret-context.ts'

const Answer = z.object({ value: z.string() })
const Problem = z.object({ error: z.object({ code: z.string(), message: z.string() }) })
const WORD = /^(?!\.+$)[\w.-]{1,127}$/
/** Hosts of Key Vault in the clouds of Azure, with the resources for which they take tokens. */
const HOSTS = /^https:\/\/[a-z0-9-]+\.(vault\.(?:azure\.net|azure\.cn|usgovcloudapi\.net))$/

/**
 * Returns the value of a version, by default of the current one; undefined if it does not exist. The credentials of the manager are not used. Throws `storage-refused` and
 * `storage-unreachable`.
 */
export async function readAzureSecret(
  { name, version, server }: AzureSecret,
  { expand, env, clock, signal }: SecretContext,
): Promise<string | undefined> {
  const assertion = requireToken(expand(server.jwt))
  const word = (what: string, text: string): string => {
    const value = expand(text)
    if (WORD.test(value)) return value
    throw fault('storage-refused', { message: `The ${what} "${value.slice(0, 100)}" is not valid. Set it in the job.` })
  }
  const url = requireAddress(expand(server.url), env)
  const [tenant, clientId] = [word('tenant', server.tenant_id), word('client ID', server.client_id)]
  const path = [word('secret', name), ...(version === '' ? [] : [word('version', version)])].join('/')
  const resource = `https://${HOSTS.exec(url)?.[1] ?? 'vault.azure.net'}/`
  const login = { tenant, clientId, assertion, resource }
  const token = await azureFederatedToken({ env, clock }, login, signal)
  const request = {
    method: 'GET',
    url: `${url}/secrets/${path}?api-version=7.4`,
    headers: { authorization: `Bearer ${token}` },
  }
  const call = { provider: 'Key Vault', action: 'read', request, readError }
  try {
    const { data } = Answer.safeParse(parseJson(await callCloud(clock, call, signal)))
    if (data !== undefined) return data.value
  } catch (error) {
    if (isRefusedWith(error, 'SecretNotFound')) return undefined
    throw error
  }
  throw fault('storage-refused', { message: 'Key Vault sent an answer that is not that of its API.' })
}

/** Returns the base URL of a Key Vault: one that the manager lists, or without a list one of Azure. A job chooses it, and the manager calls it. */
function requireAddress(given: string, env: SecretContext['env']): string {
  const url = parseBaseUrl(given)
  const allowed = allowedVaults(env)
  if (url !== undefined && (allowed === undefined ? HOSTS.test(url) : allowed.includes(url))) return url
  const hint =
    allowed === undefined ? 'It has to be like https://NAME.vault.azure.net.' : `It has to be one of: ${allowed.join(', ')}.`
  throw fault('storage-refused', {
    message: `The address of Key Vault, "${given.slice(0, 200)}", is not allowed on this runner. ${hint}`,
  })
}

function readError(body: string): { code: string; message: string } {
  const { data } = Problem.safeParse(parseJson(body))
  // The manager may allow an address of another server, which a job must not read by it.
  return data?.error ?? { code: 'error', message: 'the answer has no message of Key Vault' }
}
