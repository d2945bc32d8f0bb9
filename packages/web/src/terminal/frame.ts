/**
 * Connects the document of a terminal in a frame to the page around it: the page has the stream of the tab, and the document asks it for the output. Both
 * are documents of this server; messages of others are ignored.
 */
import { followTerminal, type TerminalNews, type TerminalPlace } from './output.ts'

/** The first message of the document, sent with a port. */
interface Hello extends TerminalPlace {
  readonly windlass: 'terminal'
}

/** What the document tells the page. */
export interface FrameMessage {
  /** The user pressed the keys that leave the terminal. */
  readonly kind: 'left'
}

function isHello(data: unknown, { build, terminal }: TerminalPlace): data is Hello {
  if (typeof data !== 'object' || data === null) return false
  const hello = data as Partial<Hello>
  return hello.windlass === 'terminal' && hello.build === build && hello.terminal === terminal
}

/** Gives the document in a frame the output of its terminal, until the returned function is called. */
export function serveFrame(
  frame: HTMLIFrameElement,
  place: TerminalPlace,
  onMessage: (message: FrameMessage) => void,
): () => void {
  let end: (() => void) | undefined
  const onHello = ({ source, origin, data, ports }: MessageEvent<unknown>): void => {
    const [port] = ports
    if (origin !== location.origin || source !== frame.contentWindow || port === undefined || !isHello(data, place)) return
    end?.()
    port.addEventListener('message', ({ data: message }: MessageEvent<FrameMessage>) => onMessage(message))
    port.start()
    const stop = followTerminal(place, (news) => port.postMessage(news))
    end = () => {
      stop()
      port.close()
    }
  }
  addEventListener('message', onHello)
  return () => {
    removeEventListener('message', onHello)
    end?.()
  }
}

export interface OutputSource {
  /** Tells the page around the document that the user has left the terminal. Returns false if there is none. */
  leave(): boolean
}

/** Follows a terminal from its document: over the page around it, or over a stream of its own if it is alone in its tab. */
export function openSource(place: TerminalPlace, listen: (news: TerminalNews) => void): OutputSource {
  if (window.parent === window) {
    followTerminal(place, listen)
    return { leave: () => false }
  }
  const { port1, port2 } = new MessageChannel()
  port1.addEventListener('message', ({ data }: MessageEvent<TerminalNews>) => listen(data))
  port1.start()
  const hello: Hello = { windlass: 'terminal', build: place.build, terminal: place.terminal }
  window.parent.postMessage(hello, location.origin, [port2])
  return {
    leave() {
      const message: FrameMessage = { kind: 'left' }
      port1.postMessage(message)
      return true
    },
  }
}
