/** Notifies of the end of builds, from a tab that may be hidden. */
import { describeBuild, isFinalBuild } from '@windlass/plan'
import type { Build } from '@windlass/protocol'
import { client } from '../server/client.ts'
import { createStore, useStore } from '../server/store.ts'
import { keepStreamOpen, observeStream } from '../server/stream.ts'
import { tell } from '../shell/toasts.tsx'

/** Ids of the builds that the user is notified of, with the function that ends this. */
const watched = createStore<ReadonlyMap<string, () => void>>(new Map())

/** Returns true while the user will be notified of the end of a build. */
export function useIsWatched(id: string): boolean {
  return useStore(watched).has(id)
}

/** Begins to watch for the end of a build, or stops. Asks the browser for the permission first. */
export async function toggleEndNotice(build: Build): Promise<void> {
  const stop = watched.get().get(build.id)
  if (stop !== undefined) {
    stop()
    tell({ text: `You will not be notified when #${build.number} ends.` })
    return
  }
  const refusal = isFinalBuild(build.status) ? 'The build has ended.' : await askPermission()
  // A second press may have been faster while the browser asked.
  if (refusal === undefined && !watched.get().has(build.id)) watch(build)
  tell({ text: refusal ?? `You will be notified when #${build.number} ends, while this tab stays open.` })
}

/** Returns why notifications are not possible. */
async function askPermission(): Promise<string | undefined> {
  if (!('Notification' in globalThis))
    return 'This browser has no notifications here: they need TLS, or a server on this machine. The title of the tab shows the end.'
  const permission = Notification.permission === 'default' ? await Notification.requestPermission() : Notification.permission
  if (permission === 'granted') return undefined
  return permission === 'denied'
    ? 'The browser blocks notifications of this site. Allow them in its settings for this address, then try again.'
    : 'Notifications were not allowed.'
}

function watch({ id }: Build): void {
  const release = keepStreamOpen()
  const see = (seen: Build): void => {
    if (!isFinalBuild(seen.status) || !watched.get().has(id)) return
    stop()
    notify(seen)
  }
  const unobserve = observeStream(({ event, data }) => {
    if (event === 'changed' && data.change.noun === 'build' && data.change.item.id === id) see(data.change.item)
    // The build may have ended while there was no stream.
    if (event === 'open' || event === 'reset') client.builds.get(id).then(see, () => undefined)
  })
  const stop = (): void => {
    release()
    unobserve()
    watched.set(new Map([...watched.get()].filter(([other]) => other !== id)))
  }
  watched.set(new Map([...watched.get(), [id, stop]]))
}

function notify(build: Build): void {
  const title = `${build.pipeline ?? 'Build'} #${build.number}`
  const notice = new Notification(title, { body: describeBuild(build), tag: build.id, icon: '/icons/windlass.svg' })
  notice.addEventListener('click', () => {
    window.focus()
    notice.close()
  })
}
