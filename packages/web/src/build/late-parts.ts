/** The screen of a build and the log in it. A list of builds loads them ahead, because most users open a build next. */
import { late } from '../shell/late.tsx'

export const BuildScreen = late(async () => (await import('./build-screen.tsx')).BuildScreen)
export const LogViewer = late(async () => (await import('../log/viewer.tsx')).LogViewer)

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
