/** Hosts that are never reached through a proxy: the pod itself, and names of the cluster. */
const DIRECT = ['localhost', '127.0.0.1', '.svc', '.cluster.local']

/**
 * Completes the variables of a proxy: each in both spellings, and `NO_PROXY` with the hosts that are never reached through it. Returns the
 * variables unchanged if there is no proxy.
 */
export function withProxies(variables: Readonly<Record<string, string>>): Record<string, string> {
  const read = (name: string): string => variables[name] ?? variables[name.toLowerCase()] ?? ''
  const proxies = ['HTTP_PROXY', 'HTTPS_PROXY'].filter((name) => read(name) !== '')
  if (proxies.length === 0) return { ...variables }
  const direct = read('NO_PROXY')
    .split(',')
    .map((host) => host.trim())
  const all = [...new Set([...direct, ...DIRECT])].filter((host) => host !== '').join(',')
  const completed = { ...Object.fromEntries(proxies.map((name) => [name, read(name)])), NO_PROXY: all }
  const both = Object.entries(completed).flatMap(([name, value]) => [
    [name, variables[name] ?? value],
    [name.toLowerCase(), variables[name.toLowerCase()] ?? value],
  ])
  return { ...variables, ...Object.fromEntries(both), NO_PROXY: all, no_proxy: all }
}
