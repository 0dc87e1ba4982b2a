/**
 * `react-native-webview`, the part that bridge.md uses. The webview is a page of its own: messages between the two
 * pass through the test, by the names below.
 */
import { useEffect, useImperativeHandle, type Ref } from "react";

interface Handle {
  injectJavaScript(script: string): void;
}

interface Properties {
  ref: Ref<Handle>;
  source: { html: string };
  onMessage: (event: { nativeEvent: { data: string } }) => void;
}

declare global {
  interface Window {
    /** Of the test: runs a script in the webview. */
    runInWebView: (script: string) => Promise<void>;
    /** Of the test: shows this page. */
    showInWebView: (html: string) => Promise<void>;
    /** Passes a message of the webview to the app. */
    fromWebView: (data: string) => void;
  }
}

export function WebView({ ref, source, onMessage }: Properties) {
  useImperativeHandle(ref, () => ({ injectJavaScript: (script) => void window.runInWebView(script) }));
  useEffect(() => {
    window.fromWebView = (data) => {
      onMessage({ nativeEvent: { data } });
    };
  }, [onMessage]);
  const { html } = source;
  useEffect(() => void window.showInWebView(html), [html]);
  return null;
}
