/** Settings of the cleaner of a build's Docker daemon: variables of the dind pod (runner specification 5.8). */

export interface CleanSettings {
  /** Whether anything is removed when a build ends; the watch during builds has a switch of its own. */
  readonly enabled: boolean
  readonly watch: boolean
  readonly dryRun: boolean
  readonly periodSeconds: number
  readonly periodBuilds: number
  readonly imageRetainSeconds: number
  readonly volumesRetainSeconds: number
  /** Fractions of the disk in use, beyond which a clean-up is due when a build ends. */
  readonly diskThreshold: number
  readonly inodesThreshold: number
  /** The same during a build. */
  readonly watchDiskThreshold: number
  readonly watchInodesThreshold: number
  /** Fraction of the disk that the cache of builds may keep when a clean-up is due. */
  readonly cacheShare: number
}

const OFF = ['false', '0', 'no', 'off']

/** Numbers by variable: default (that of the docs), least, most. */
const NUMBERS = {
  CLEAN_PERIOD_SECONDS: [21_600, 0, Infinity],
  CLEAN_PERIOD_BUILDS: [5, 1, Infinity],
  IMAGE_RETAIN_PERIOD: [14_400, 0, Infinity],
  VOLUMES_RETAIN_PERIOD: [14_400, 0, Infinity],
  DISK_USAGE_THRESHOLD: [0.8, 0, 1],
  INODES_USAGE_THRESHOLD: [0.8, 0, 1],
  CLEANER_AGENT_DISK_USAGE_THRESHOLD: [0.9, 0, 1],
  CLEANER_AGENT_INODES_USAGE_THRESHOLD: [0.9, 0, 1],
  BUILD_CACHE_SHARE: [0.2, 0, 1],
} as const

/** Every variable that is read, so that the daemon's pod can hand on these and no others. */
export const CLEAN_VARIABLES = ['CLEAN_DOCKER', 'CLEANER_DRY_RUN', 'DISABLE_CLEANER_AGENT', ...Object.keys(NUMBERS)] as const

type Variables = Readonly<Record<string, string | undefined>>

/** Reads the variables; one that makes no sense counts as absent and is named in `ignored`. */
export function readCleanSettings(variables: Variables): {
  readonly settings: CleanSettings
  readonly ignored: readonly string[]
} {
  const ignored: string[] = []
  const read = (name: keyof typeof NUMBERS): number => {
    const [absent, least, most] = NUMBERS[name]
    const text = variables[name] ?? ''
    const value = Number(text)
    if (text === '') return absent
    if (Number.isFinite(value) && value >= least && value <= most) return value
    ignored.push(name)
    return absent
  }
  const settings = {
    enabled: !OFF.includes((variables['CLEAN_DOCKER'] ?? '').toLowerCase()),
    watch: !isOn(variables['DISABLE_CLEANER_AGENT']),
    dryRun: isOn(variables['CLEANER_DRY_RUN']),
    periodSeconds: read('CLEAN_PERIOD_SECONDS'),
    periodBuilds: read('CLEAN_PERIOD_BUILDS'),
    imageRetainSeconds: read('IMAGE_RETAIN_PERIOD'),
    volumesRetainSeconds: read('VOLUMES_RETAIN_PERIOD'),
    diskThreshold: read('DISK_USAGE_THRESHOLD'),
    inodesThreshold: read('INODES_USAGE_THRESHOLD'),
    watchDiskThreshold: read('CLEANER_AGENT_DISK_USAGE_THRESHOLD'),
    watchInodesThreshold: read('CLEANER_AGENT_INODES_USAGE_THRESHOLD'),
    cacheShare: read('BUILD_CACHE_SHARE'),
  }
  return { settings, ignored }
}

function isOn(text = ''): boolean {
  return text !== '' && !OFF.includes(text.toLowerCase())
}
