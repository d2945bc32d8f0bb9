/**
 * The URL of the log socket for public clients. Their library accepts only hosts of exactly three labels, uses TLS if the URL has no port, and
 * rejects the second label `firebase`.
 */

/** Path below which the log of each build is a node with `status` and `steps`. */
export const LOG_PREFIX = 'api/logs'

const LABELS = 3
const IPV4 = /^(\d+)\.(\d+)\.(\d+)\.(\d+)$/

/**
 * Returns the URL of the log nodes on the server with this base URL; undefined if the library of the clients cannot use its host. An IPv4 address is
 * written in its form with three numbers, which resolvers accept: `192.168.1.10` becomes `192.168.266`.
 */
export function logUrl(baseUrl: string): string | undefined {
  const url = URL.parse(baseUrl)
  if (url === null || url.pathname !== '/') return undefined
  const host = toThreeLabels(url.hostname)
  if (host === undefined) return undefined
  const port = url.port === '' ? (url.protocol === 'https:' ? '' : ':80') : `:${url.port}`
  return `${url.protocol}//${host}${port}/${LOG_PREFIX}`
}

function toThreeLabels(hostname: string): string | undefined {
  if (hostname === 'localhost') return '127.0.1'
  const address = IPV4.exec(hostname)
  if (address !== null) return `${address[1]}.${address[2]}.${Number(address[3]) * 256 + Number(address[4])}`
  const labels = hostname.split('.')
  const isUsable = labels.length === LABELS && labels.every((label) => label !== '') && labels[1] !== 'firebase'
  return isUsable ? hostname : undefined
}
