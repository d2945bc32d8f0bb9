/** Runs `gitops report`: the reporter of a GitOps runtime until a signal stops it. */
import { aborted, defined, openLog, stopSignal, systemClock } from '@windlass/kit'
import { VERSION } from '@windlass/plan/version'
import { readReporterConfig, serveReporterHealth, startReporter, toReporterOptions } from '@windlass/reporter'
import type { Invocation } from '../../command.ts'

interface ReportOptions {
  readonly serverUrl: string | undefined
  readonly tokenFile: string | undefined
  readonly namespaces: string | undefined
  readonly objectNamespaces: string | undefined
  readonly shards: number | undefined
  readonly shard: number | undefined
  readonly kubeconfig: string | undefined
  readonly port: number | undefined
}

/** Runs the command. Resolves when the reporter has stopped. */
export async function runReporter({ options, settings }: Invocation<ReportOptions>): Promise<void> {
  const { environment, debug } = settings
  const config = readReporterConfig({
    ...environment,
    ...defined({
      WINDLASS_REPORTER_SERVER_URL: options.serverUrl,
      WINDLASS_REPORTER_TOKEN_PATH: options.tokenFile,
      WINDLASS_REPORTER_NAMESPACES: options.namespaces,
      WINDLASS_REPORTER_OBJECT_NAMESPACES: options.objectNamespaces,
      WINDLASS_REPORTER_SHARDS: options.shards?.toString(),
      WINDLASS_REPORTER_SHARD: options.shard?.toString(),
      WINDLASS_REPORTER_KUBECONFIG: options.kubeconfig,
      WINDLASS_REPORTER_PORT: options.port?.toString(),
    }),
  })
  const signal = stopSignal()
  const log = openLog({ level: debug ? 'debug' : config.LOG_LEVEL, name: 'reporter' })
  const reporter = startReporter(await toReporterOptions(config, { environment, clock: systemClock, log, version: VERSION }))
  const health =
    config.PORT === undefined ? undefined : await serveReporterHealth({ reporter, clock: systemClock, port: config.PORT })
  log.info({ server: config.SERVER_URL }, 'reporter started')
  await Promise.race([aborted(signal), reporter.ended])
  log.info('the reporter stops')
  await reporter.close()
  await health?.[Symbol.asyncDispose]()
}
