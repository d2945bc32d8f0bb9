/** Settings of a custom builder: `builder.driver` and `builder.driver_opts` (docs.docker.com, "docker-container driver"). */
import type { Buildx } from '@windlass/plan'
import { StepFailure } from '../attempt/step-outcome.ts'

export interface DriverOptions {
  readonly image?: string
  readonly network: 'host' | 'bridge'
  readonly environment: readonly string[]
}

/** Parses comma-separated `key=value` pairs. `network` is the default. Throws `StepFailure` (`invalid-step`). */
export function openDriverOptions(settings: Buildx['builder'] | undefined, network: DriverOptions['network']): DriverOptions {
  const driver = settings?.driver ?? 'docker-container'
  if (driver !== 'docker-container')
    throw new StepFailure('invalid-step', `The builder driver "${driver}" is not supported.`, {
      hint: 'Only docker-container is supported: a BuildKit daemon next to the Docker daemon of the build.',
    })
  let options: DriverOptions = { network, environment: [] }
  for (const pair of (settings?.driverOpts ?? '').split(',').map((text) => text.trim())) {
    if (pair === '') continue
    const sign = pair.indexOf('=')
    const [key, value] = sign < 0 ? [pair, ''] : [pair.slice(0, sign), unquote(pair.slice(sign + 1))]
    options = withOption(options, key, value)
  }
  return options
}

function withOption(options: DriverOptions, key: string, value: string): DriverOptions {
  if (key === 'image') return { ...options, image: value }
  if (key === 'network' && (value === 'host' || value === 'bridge')) return { ...options, network: value }
  if (key.startsWith('env.')) return { ...options, environment: [...options.environment, `${key.slice('env.'.length)}=${value}`] }
  throw new StepFailure('invalid-step', `The driver option "${key}=${value}" is not supported.`, {
    hint: 'Supported options: image=NAME, network=host|bridge and env.NAME=VALUE.',
  })
}

function unquote(value: string): string {
  return value.replace(/^(["'])(.*)\1$/, '$2')
}
