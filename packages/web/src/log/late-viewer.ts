/** The log of a build, which is loaded when the first one is shown or a list of builds loads it ahead. */
import { late } from '../shell/late.tsx'

export const LogViewer = late(async () => (await import('./viewer.tsx')).LogViewer)
