/** Hosts of URLs without the brackets that IPv6 addresses have there. */

export function withoutBrackets(host: string): string {
  return host.replace(/^\[|\]$/g, '')
}

/** Returns the host of a URL, without its port and the brackets of IPv6. */
export function hostOf({ hostname }: URL): string {
  return withoutBrackets(hostname)
}
