/** What an installation with an app-proxy needs to know. */
import type { Session } from '../../session/session.ts'
import type { Subject } from '../acceptance/finding.ts'
import type { AppProxyFacts } from '../values/chart-values.ts'
import type { InstallValues } from '../values/install-values.ts'
import { valueAt } from '../values/read-values.ts'
import { wantsAppProxy } from './address.ts'

/** Pages of the server have the origin of its public URL, which the cluster may not use. */
export function appProxyFacts({ url, clusterUrl }: Pick<Session, 'url' | 'clusterUrl'>): AppProxyFacts {
  const { origin } = new URL(url)
  return { cors: clusterUrl === undefined || new URL(clusterUrl).origin === origin ? undefined : origin }
}

/** Returns the parts whose permissions the app-proxy needs. */
export function proxyParts(values: InstallValues): Pick<Subject['parts'], 'proxyIngress' | 'proxyRoute'> {
  const isRoute = valueAt(values.chart, ['appProxy', 'httpRoute', 'enabled']) === true
  return wantsAppProxy(values) ? { proxyIngress: !isRoute, proxyRoute: isRoute } : {}
}
