/** Browsers reach the app-proxy of a Runner by HTTPS only: its ingress controller terminates TLS, and says so in a header of each call. */
import type { IncomingHttpHeaders } from 'node:http'
import { fault } from '@windlass/kit'

/** Throws `https-required` unless each hop up to the ingress controller was HTTPS. A call without the header did not come through one. */
export function requireHttps({ 'x-forwarded-proto': given }: IncomingHttpHeaders): void {
  // Several proxies append to the header, or send it several times.
  const hops = [given ?? []].flat().flatMap((value) => value.split(','))
  if (hops.length > 0 && hops.every((hop) => hop.trim().toLowerCase() === 'https')) return
  if (hops.length > 0)
    throw fault('https-required', {
      message: 'The call came over plain HTTP.',
      hint: 'Use the https URL, and replace the key that was sent.',
    })
  throw fault('https-required', {
    message: 'The call did not come through an ingress controller: it has no header X-Forwarded-Proto.',
    hint: 'If TLS is terminated elsewhere, set appProxy.config.requireHttps to false in the chart of the Runner.',
  })
}
