/** The screen of a build. A list of builds loads it and the log in it ahead, because most users open a build next. */
import { LogViewer } from '../log/late-viewer.ts'
import { late } from '../shell/late.tsx'

export const BuildScreen = late(async () => (await import('./build-screen.tsx')).BuildScreen)

/** Leaves the network to the list first. Milliseconds. */
const DELAY_MS = 200

/** Loads both soon. Returns a function that cancels this. */
export function preloadBuild(): () => void {
  const timer = setTimeout(() => {
    BuildScreen.preload()
    LogViewer.preload()
  }, DELAY_MS)
  return () => clearTimeout(timer)
}
