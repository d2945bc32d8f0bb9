/** Clients of the GitLab servers of runners. */
import { dirname, join } from 'node:path'
import { openCoordinator, openTlsSource, type Coordinator } from '@windlass/gitlab'
import { silentLog, systemClock } from '@windlass/kit'
import { VERSION } from '@windlass/plan/version'

export interface RunnerAddress {
  readonly url: string
  readonly token: string
  readonly caFile?: string | undefined
  readonly certFile?: string | undefined
  readonly keyFile?: string | undefined
}

/** Runs `use` with a client of the server of a runner, and closes it. */
export async function withClient<T>(
  { url, token, ...files }: RunnerAddress,
  configFile: string,
  use: (client: Coordinator) => Promise<T>,
): Promise<T> {
  const certsFolder = join(dirname(configFile), 'certs')
  const client = openCoordinator({
    url,
    token,
    tls: URL.canParse(url) ? openTlsSource({ url, certsFolder, ...files }).options : undefined,
    userAgent: `windlass ${VERSION}`,
    log: silentLog,
    clock: systemClock,
  })
  try {
    return await use(client)
  } finally {
    client.close()
  }
}
