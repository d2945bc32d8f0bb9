/** Starts the document of a terminal, whose address is `/builds/{id}/terminals/{terminal}`. */
import '@fontsource-variable/inter/wght.css'
import '@fontsource-variable/jetbrains-mono/wght.css'
import '../looks/tokens.css'
import '../looks/base.css'
import { isFault } from '@windlass/kit/faults'
import type { Session } from '@windlass/protocol'
import { client } from '../server/client.ts'
import { nameOf, whyNot } from '../server/session.ts'
import { watchVisibility } from '../server/stream.ts'
import { paths } from '../url/paths.ts'
import { attach, replay, type Attached } from './attach.ts'
import { buildDocument, type TerminalDocument } from './document.ts'
import type { TerminalPlace } from './output.ts'
import { openScreen, type Screen } from './screen.ts'

function readPlace(): TerminalPlace | undefined {
  const [, build, terminal] = /^\/builds\/([0-9a-f]{24})\/terminals\/([0-9a-f]{24})$/.exec(location.pathname) ?? []
  return build === undefined || terminal === undefined ? undefined : { build, terminal }
}

async function start(place: TerminalPlace, page: TerminalDocument): Promise<void> {
  const session = await client.sessions.current()
  const forbidden = whyNot(session, 'debug-builds')
  if (forbidden !== undefined) return page.say(forbidden, 'bad')
  const [build, { terminals }] = await Promise.all([client.builds.get(place.build), client.debug.get(place.build)])
  const record = terminals.find(({ id }) => id === place.terminal)
  if (record === undefined) return page.say(`Terminal ${place.terminal} of build #${build.number} does not exist.`, 'bad')
  document.title = `${record.step} · #${build.number} · Windlass`
  let attached: Attached | undefined
  const screen: Screen = await openScreen(page.screen, {
    onKeys: (bytes) => attached?.onKeys(bytes),
    onSize: (size) => attached?.onSize(size),
    confirmPaste: async (text, lines) => {
      const isConfirmed = await page.confirmPaste(text, lines)
      screen.focus()
      return isConfirmed
    },
    onLink: (address) => page.hint(address === undefined ? undefined : `Ctrl-click opens ${address}`),
  })
  if (record.endedAt !== undefined) return replay(place, record, screen, page)
  const watchOnly = whyNotType(session, record.openedBy)
  attached = attach({ place, record, watchOnly, screen, page })
  attached.onSize(screen.size())
  if (watchOnly === undefined) screen.focus()
}

/** Only the person who opened a terminal types in it, because keys of two would mix. */
function whyNotType(session: Session, openedBy: string): string | undefined {
  return nameOf(session) === openedBy
    ? undefined
    : `${openedBy} opened this terminal. You can watch it, and open one of your own.`
}

const root = document.querySelector<HTMLElement>('#terminal')
if (root === null) throw new Error('The document has no element with the id terminal.')
const page = buildDocument(root)
const place = readPlace()
watchVisibility()
if (place === undefined) page.say('The address names no terminal.', 'bad')
else
  start(place, page).catch((error: unknown) => {
    if (isFault(error) && error.code === 'unauthenticated' && window.parent === window)
      return location.replace(paths.signIn(location.pathname))
    page.say(isFault(error) ? `${error.message} ${error.hint}` : String(error), 'bad')
  })
