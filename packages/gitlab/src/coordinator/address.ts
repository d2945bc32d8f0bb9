/** Address of the runner API of a GitLab server. */
import { fault } from '@windlass/kit'

export interface ApiAddress {
  /** Ends with `/api/v4/`. */
  readonly base: string
  /** True if the configured URL ends with `/ci`, the address of GitLab CI before version 8. */
  readonly isLegacy: boolean
}

/** Derives the address of the API from the configured URL. Throws `config-invalid` if that is not an HTTP URL. */
export function apiAddress(url: string): ApiAddress {
  const parsed = URL.parse(url.trim())
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || parsed.username !== '' || parsed.password !== '')
    throw fault('config-invalid', {
      message: 'The URL of the GitLab server is not a plain HTTP or HTTPS URL.',
      hint: 'Set `url` of the runner to an address such as `https://gitlab.example.com/`, without a user name.',
    })
  const path = parsed.pathname.replace(/\/+$/, '')
  const isLegacy = path.endsWith('/ci')
  return { base: `${parsed.origin}${isLegacy ? path.slice(0, -3) : path}/api/v4/`, isLegacy }
}
