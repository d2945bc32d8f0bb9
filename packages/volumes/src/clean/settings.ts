/** Settings of the cleaner of a build's Docker daemon: environment variables of the dind pod. */

export interface CleanSettings {
  /** Whether anything is removed at the end of a build; `watch` is for the clean-up during builds. */
  readonly enabled: boolean
  readonly watch: boolean
  readonly dryRun: boolean
  readonly periodSeconds: number
  readonly periodBuilds: number
  readonly imageRetainSeconds: number
  readonly volumesRetainSeconds: number
  /** Fractions of the disk in use from which a clean-up is due at the end of a build. */
  readonly diskThreshold: number
  readonly inodesThreshold: number
  /** The same during a build. */
  readonly watchDiskThreshold: number
  readonly watchInodesThreshold: number
  /** Fraction of the disk that the build cache may keep when a clean-up is due. */
  readonly cacheShare: number
}

const OFF = ['false', '0', 'no', 'off']

/** Numbers by variable: default (as documented), minimum, maximum. */
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

/** All variables that are read; the daemon's pod passes on only these. */
export const CLEAN_VARIABLES = ['CLEAN_DOCKER', 'CLEANER_DRY_RUN', 'DISABLE_CLEANER_AGENT', ...Object.keys(NUMBERS)] as const

type Variables = Readonly<Record<string, string | undefined>>

/** Reads the variables. Invalid ones are treated as absent and returned in `ignored`. */
export function readCleanSettings(variables: Variables): {
  readonly settings: CleanSettings
  readonly ignored: readonly string[]
} {
  const ignored: string[] = []
  const read = (name: keyof typeof NUMBERS): number => {
    const [absent, min, max] = NUMBERS[name]
    const text = variables[name] ?? ''
    const value = Number(text)
    if (text === '') return absent
    if (Number.isFinite(value) && value >= min && value <= max) return value
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
