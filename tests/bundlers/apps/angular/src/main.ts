/** The page's script. */
import { bootstrapApplication } from "@angular/platform-browser";
import { Component, type OnInit } from "@angular/core";
import { SeenGuard } from "seenguard";
import { showFeed } from "../../feed.js";
import { SeenFeed } from "./feed";

@Component({ selector: "app-root", imports: [SeenFeed], template: `<app-feed userId="ada" />` })
class App implements OnInit {
  ngOnInit(): void {
    void showFeed({ SeenGuard });
  }
}

void bootstrapApplication(App);
